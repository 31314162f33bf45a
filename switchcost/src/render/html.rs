//! Figures as one page that needs no other file, no script and no network: the answer with its plot, and all
//! else folded.

use std::io::{self, Write};

use contract::units::counted;
use figures::conditions::all_doubts;
use figures::doubt;
use figures::{Figures, provenance};
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use serde_json::json;

use super::document::Section;
use super::figures::{foot, origin};
use super::grid::Grid;
use super::plot::{self, Plot};
use super::{curves, tables};
use crate::views::answer::Answer;
use crate::views::conclusion;
use crate::views::tables as views;

const CSS: &str = include_str!("page.css");

pub(super) const TITLE: &str = "What a thread and an async task cost";

/// Policy that keeps the page from running or loading anything, should an escape ever be forgotten.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Most doubts that stand open above the answer.
const BANNERS: usize = 3;

const READ: &str = "A task hands a token to the next: that is a hop. The process is the sample: each case runs in \
                    fresh processes, once a round, in shuffled order, and an interval covers the mean of such \
                    processes with 95 % confidence. Times are at the machine's quiet speed: the slowdown that a probe \
                    around each slice shows is removed. Differences and ratios are taken inside each round. An \
                    interval with zero in it, or one for a ratio, shows no difference. If the processes fall into two \
                    groups, both are shown, because their mean describes neither. No run is dropped. \
                    docs/METHODOLOGY.md says how and why.";

/// Words of the tables, and what each is.
const WORDS: [(&str, &str); 9] = [
    ("hop", "a task hands a token to the next one"),
    ("unpinned", "the kernel chooses the CPUs"),
    ("one CPU", "all tasks share one CPU, so nobody is woken on another"),
    ("futex", "a word in memory on which the kernel lets a thread sleep and wakes it"),
    ("channel", "a queue in memory by which tasks hand over messages"),
    ("at rest", "all tasks wait; a size is the slope of memory over their number"),
    (
        "minimal executor",
        "some 200 lines that poll tasks on one thread: the least that a runtime must do",
    ),
    ("yardstick", "work that depends on the machine alone; if it moves, the machine did"),
    ("p99", "99 of 100 are no later"),
];

/// Writes figures as a page.
pub fn html(
    figures: &Figures<'_>,
    answer: Option<&Answer>,
    out: &mut impl Write,
) -> io::Result<()> {
    let sections = sections(figures);
    let title = title(figures, answer);
    let body = html! { main {
        (header(title, answer, figures))
        nav aria-label="Contents" { ul {
            @for (index, (title, _)) in sections.iter().enumerate() {
                li { a href={ "#part-" (index) } { (title) } }
            }
        } }
        @for (index, (title, body)) in sections.iter().enumerate() {
            // A link to what is inside unfolds it. If there is no answer, the first table is it.
            details open[index == 0 && answer.is_none()] {
                summary { h2 { (title) } }
                div id={ "part-" (index) } { (body) }
            }
        }
    } };
    page(title, &body, out)
}

/// The question of the plan, if all is of one.
fn title<'a>(figures: &'a Figures<'a>, answer: Option<&Answer>) -> &'a str {
    let mut questions: Vec<&Option<String>> =
        provenance::runs(figures.records).iter().map(|run| &run.question).collect();
    questions.dedup();
    match questions[..] {
        [Some(question)] => question,
        _ if answer.is_some_and(|answer| !answer.is_of_threads()) => "What each row costs",
        _ => TITLE,
    }
}

/// Writes a page around its body.
pub(super) fn page(title: &str, body: &Markup, out: &mut impl Write) -> io::Result<()> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(plot::THEME)) (PreEscaped(plot::CSS)) (PreEscaped(CSS)) }
            }
            body { (body) }
        }
    };
    out.write_all(page.0.as_bytes())
}

/// Doubts, the answer with its plot, and when it was measured.
fn header(title: &str, answer: Option<&Answer>, figures: &Figures<'_>) -> Markup {
    let of_answer = answer.map_or(Vec::new(), |answer| answer.doubts.clone());
    let doubts = doubt::merged(of_answer.into_iter().chain(all_doubts(figures)));
    let doubts: Vec<String> = doubts.iter().map(ToString::to_string).collect();
    html! {
        header {
            h1 { (title) }
            @if let Some(beside) = answer.and_then(|answer| answer.beside.as_ref()) {
                p.banner role="alert" { (beside.alarm()) }
            }
            @for doubt in doubts.iter().take(BANNERS) {
                p.banner role="alert" { (doubt) }
            }
            @if doubts.len() > BANNERS {
                details {
                    summary { (counted(doubts.len() - BANNERS, "more doubt")) }
                    div { (list(doubts[BANNERS..].to_vec())) }
                }
            }
            @if !answer.is_some_and(Answer::is_of_threads) {
                @for line in conclusion::parts(figures) { p.lead { (line) } }
            }
            @if let Some(answer) = answer {
                p.where { (answer.origin()) }
                (table(&super::answer::grid(answer), "The answer"))
                @for line in &answer.matters { p { (line) } }
                @for line in super::answer::missing(answer) { p { (line) } }
                p { (super::answer::last(answer)) }
                (figure(Some(plot::answer(answer))))
            } @else {
                @for line in origin(figures) { p.where { (line) } }
            }
            @if let Some(at) = provenance::started(figures.records) { p.where { "Measured " (at) "." } }
        }
    }
}

/// Titles and bodies of the folded parts.
fn sections(figures: &Figures<'_>) -> Vec<(String, Markup)> {
    let (tables, curves) = (views::tables(figures), views::curves(figures));
    let tables = tables.iter().map(|table| (tables::section(table), plot::table(table)));
    let curves = curves.iter().map(|curve| (curves::section(curve), plot::curve(curve)));
    let mut sections = Vec::new();
    for (section, plot) in tables.chain(curves) {
        sections.push((section.title.clone(), part(section, plot)));
    }
    let rest = [
        ("Notes", list(foot(figures))),
        ("Machine and build", facts(figures)),
        ("How to repeat", repeat(figures)),
        ("How to read", html! { p { (READ) } (definitions(WORDS)) }),
    ];
    sections.extend(rest.map(|(title, body)| (title.to_owned(), body)));
    sections
}

/// A table, its plot, and what is said of them.
pub(super) fn part(section: Section, plot: Option<Plot>) -> Markup {
    html! {
        @if !section.grid.head.is_empty() { (table(&section.grid, &section.title)) }
        (figure(plot))
        (list(section.lines))
    }
}

/// A table that scrolls by itself if it is too wide, and then shows that it does; one of many columns keeps its
/// names in sight.
fn table(grid: &Grid, title: &str) -> Markup {
    html! {
        div.scroll.wide[grid.head.len() > 3] tabindex="0" role="region" aria-label=(title) {
            table {
                thead { tr {
                    @for head in &grid.head {
                        @if head.is_empty() { td {} } @else { th scope="col" { (head) } }
                    }
                } }
                tbody { @for line in &grid.body { @if let Some((name, cells)) = line.split_first() {
                    tr class=[name.starts_with(' ').then_some("derived")] {
                        th scope="row" { (name.trim_start()) }
                        // An interval stays in one line.
                        @for cell in cells { td { (cell.replace(", ", ",\u{a0}")) } }
                    }
                } } }
            }
        }
    }
}

/// Names with what is said of each.
fn definitions(all: impl IntoIterator<Item = (impl Render, impl Render)>) -> Markup {
    html! { dl { @for (name, text) in all { dt { (name) } dd { (text) } } } }
}

/// A plot with its caption, if it has one.
fn figure(plot: Option<Plot>) -> Markup {
    html! { @if let Some(plot) = plot { figure {
        (plot.inline())
        @if !plot.caption.is_empty() { figcaption { (plot.caption) } }
    } } }
}

/// Sentences: one as a paragraph, several as a list.
fn list(lines: Vec<String>) -> Markup {
    html! {
        @match &lines[..] {
            [] => {}
            [line] => p { (line) }
            lines => ul { @for line in lines { li { (line) } } }
        }
    }
}

/// Every fact of the machine and the build, known to this version or not.
fn facts(figures: &Figures<'_>) -> Markup {
    let run = figures.records.first().map(|record| &record.header);
    let lists = run.map(|run| [("Machine", json!(run.machine)), ("Build", json!(run.build))]);
    html! {
        @for (title, facts) in lists.into_iter().flatten() {
            h3 { (title) }
            @let known = facts.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
            (definitions(known.map(|(name, value)| (name.replace('_', " "), provenance::shown(value)))))
        }
        p { (provenance::runtimes(figures.records).join(", ")) }
    }
}

/// The commands that measure all of it again, with the seed that sets the order.
fn repeat(figures: &Figures<'_>) -> Markup {
    html! {
        p { "The same cases in the same order:" }
        pre { @for run in provenance::runs(figures.records) {
            "cargo run --release -- " @if run.command.is_empty() { "run" } (run.command)
            @if !run.command.contains("--seed") { " --seed " (run.seed) } "\n"
        } }
        p { code { "switchcost run --list" } " prints the command of each case." }
    }
}
