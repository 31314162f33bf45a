//! An analysis as one page that needs no other file, no script and no network: the answer with its plot, and
//! all else folded.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use record::{Metric, Record};

mod details;
mod facts;
mod tables;

use super::plot::{self, Plot};
use super::{Document, curves, notes_of, provenance, table_section};
use crate::figures::analysis::{Analysis, Curve, Table};
use crate::measure::store::utc;
use crate::system::console::plain;
use crate::views::answer::Answer;
use crate::views::fleet::Fleet;
use tables::scrolled;

const CSS: &str = include_str!("page.css");

const TITLE: &str = "What a thread and an async task cost";

/// Policy that keeps the page from running or loading anything, should an escape ever be forgotten.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// One folded part of the page.
struct Section {
    title: String,
    body: Markup,
}

/// Writes an analysis as a page.
///
/// # Errors
/// Errors of the writer.
pub fn html(analysis: &Analysis, records: &[Record], out: &mut impl Write) -> io::Result<()> {
    let answer = Answer::of(records);
    let sections = sections(analysis, records);
    let body = html! {
        (head(answer.as_ref(), records))
        nav aria-label="Contents" { ul {
            @for (index, section) in sections.iter().enumerate() {
                li { a href={ "#part-" (index) } { (section.title) } }
            }
        } }
        @for (index, section) in sections.iter().enumerate() {
            // A link to what is inside unfolds it. Where there is no answer, the first table is it.
            details open[index == 0 && answer.is_none()] {
                summary { h2 { (section.title) } }
                div id={ "part-" (index) } { (section.body) }
            }
        }
    };
    page(&body, out)
}

/// Writes files side by side as a page.
///
/// # Errors
/// Errors of the writer.
pub fn fleet_page(fleet: &Fleet, out: &mut impl Write) -> io::Result<()> {
    let Document { head, sections, foot } = super::fleet::document(fleet);
    let body = html! {
        header {
            h1 { (TITLE) }
            @for line in head { p { (line) } }
        }
        @for section in sections {
            h2 { (section.title) }
            (scrolled(&section.grid, &section.title, true))
            (list(section.lines))
        }
        (list(foot))
    };
    page(&body, out)
}

fn page(body: &Markup, out: &mut impl Write) -> io::Result<()> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (TITLE) }
                style { (PreEscaped(plot::CSS)) (PreEscaped(CSS)) }
            }
            body { main { (body) } }
        }
    };
    // HTML forbids control characters, even as references.
    out.write_all(plain(&page.0).as_bytes())
}

fn head(answer: Option<&Answer>, records: &[Record]) -> Markup {
    // Records that should not have been put together come first, as a busy machine does.
    let (pooled, from) = origin(records);
    let started = records.iter().map(|record| record.started).min();
    let at = started.and_then(|ms| utc(UNIX_EPOCH.checked_add(Duration::from_millis(ms))?));
    let doubts = answer.map_or(&[][..], |answer| &answer.doubts);
    let doubts: Vec<String> = doubts.iter().map(ToString::to_string).collect();
    html! {
        header {
            h1 { (TITLE) }
            @for warning in pooled.iter().chain(&doubts) { p.banner role="alert" { (warning) } }
            @if let Some(answer) = answer { (answered(answer)) }
            @if answer.is_none() { @for line in from { p.where { (line) } } }
            @if let Some(at) = at { p.where { "Measured " (at) "." } }
        }
    }
}

/// Warnings of what records were put together, and what they are of.
fn origin(records: &[Record]) -> (Vec<String>, Vec<String>) {
    provenance(records).into_iter().partition(|line| line.starts_with("!!"))
}

fn answered(answer: &Answer) -> Markup {
    html! {
        p.where { (answer.machine) }
        (scrolled(&super::answer::grid(answer), "The answer", false))
        @for line in &answer.matters { p { (line) } }
        p { (answer.conditions.to_string()) }
        (figure(Some(plot::answer(answer)), "Bars: 95 % intervals of the ratios."))
    }
}

fn sections(analysis: &Analysis, records: &[Record]) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    let mut add = |title: &str, body: Markup| all.push(Section { title: title.to_owned(), body });
    for of in &analysis.tables {
        add(&of.title, table(of));
    }
    for of in &analysis.curves {
        add(&of.title, curve(of));
    }
    if let Some(drift) = plot::drift(records) {
        let caption = "Each point is one process. Where the points of all cases move together, the \
                       machine changed, not the programs.";
        add("Process means in order of time", figure(Some(drift), caption));
    }
    add("Distributions and failed runs", details::cases(records));
    add("Notes", notes(analysis));
    if let Some(first) = records.first() {
        let from = list(origin(records).1);
        add("Machine and build", html! { (from) (facts::markup(first, records)) });
    }
    add("How to repeat", details::repeat(records));
    add("How to read", html! { p { (READ) } });
    all
}

fn table(table: &Table) -> Markup {
    let (plot, caption) = match table.metric {
        Metric::Memory => (plot::memory(table), MEMORY),
        _ => (plot::strip(table), STRIP),
    };
    tables(table_section(table), figure(plot, caption), table.has_further())
}

fn curve(curve: &Curve) -> Markup {
    let caption = "Bars: 95 % intervals of the mean. Dashed: a cache is full.";
    tables(curves::section(curve), figure(plot::curve(curve), caption), false)
}

fn tables(section: super::document::Section, plot: Markup, wide: bool) -> Markup {
    html! {
        (scrolled(&section.grid, &section.title, wide))
        (plot)
        (list(section.lines))
    }
}

fn figure(plot: Option<Plot>, caption: &str) -> Markup {
    html! { @if let Some(plot) = plot { figure { (plot.inline()) figcaption { (caption) } } } }
}

fn list(lines: Vec<String>) -> Markup {
    html! { @if !lines.is_empty() { ul { @for line in lines { li { (line) } } } } }
}

fn notes(analysis: &Analysis) -> Markup {
    let mut lines: Vec<String> = Vec::new();
    if let Some((name, floor)) = analysis.noise_floor() {
        let floor = floor * 100.0;
        lines.push(format!(
            "Two equal runs differ by up to {floor:.1} % ({name}): a smaller difference is noise."
        ));
    }
    lines.extend(notes_of(analysis).map(|warning| format!("{warning}.")));
    if analysis.warnings.is_empty() {
        lines.push("The records give no cause for a warning.".to_owned());
    }
    list(lines)
}

const STRIP: &str = "Sorted by the mean; at the right, its multiple of the least. Each point is the mean of one \
                     process, the first on top. Vertical stroke: the mean, or the centres of two groups of \
                     processes. Bar: its 95 % interval.";

const MEMORY: &str = "Bytes that one more task adds, by what holds them: slopes of lines over the number of tasks. A \
                      part that is not above its noise has no bar.";

const READ: &str = "A task hands a token to the next: that is a hop. The process is the sample: each case runs in \
                    fresh processes, once a round, in shuffled order, and an interval covers the mean of such \
                    processes with 95 % confidence. Differences and ratios are taken inside each round. An \
                    interval with zero in it, or one for a ratio, shows no difference. Where the processes fall \
                    into two groups, both are shown, because their mean describes neither. No run is dropped. \
                    docs/METHODOLOGY.md says how and why.";
