//! An analysis as text for a terminal, as Markdown, as a page or as comma-separated values.

use std::io::{self, Write};

use crate::system::console::plain;
use record::Build;
use record::{Metric, Record, Run};

use crate::figures::analysis::{Analysis, Cell, Row, Table};
use crate::figures::cases::Reading;
use crate::figures::notes;
use crate::views::answer::Answer;
use crate::views::compare as comparison;

pub mod answer;
pub mod compare;
mod csv;
mod curves;
mod document;
pub mod duel;
mod evidence;
pub mod figures;
pub mod fleet;
mod grid;
mod html;
mod layout;
pub mod limits;
pub mod machine;
mod markdown;
mod memory;
pub mod plot;
pub mod stat;

pub use csv::csv;
pub use document::Document;
pub use html::{fleet_page, html};

use crate::figures::number::factor;
use crate::figures::number::net;
use document::Section;
use figures::{figure, headline, unmeasured};
pub use grid::Grid;

/// Writes the answer for a terminal, and how to see more.
///
/// # Errors
/// Errors of the writer.
pub fn answer_text(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| answer::text(answer, out))
}

/// Writes the answer as Markdown.
///
/// # Errors
/// Errors of the writer.
pub fn answer_markdown(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| answer::markdown(answer, out))
}

/// An analysis in full.
pub fn document(analysis: &Analysis, records: &[Record]) -> Document {
    let tables = analysis.tables.iter().map(table_section);
    Document {
        head: provenance(records),
        sections: tables.chain(analysis.curves.iter().map(curves::section)).collect(),
        foot: remarks(analysis),
    }
}

fn table_section(table: &Table) -> Section {
    let mut lines = evidence::lines(table);
    lines.extend(memory::lines(table));
    Section { title: table.title.clone(), grid: grid(table), lines }
}

/// Remarks on all tables.
fn remarks(analysis: &Analysis) -> Vec<String> {
    let mut lines = vec!["In brackets: 95 % intervals from whole processes as samples.".to_owned()];
    if let Some((name, floor)) = analysis.noise_floor() {
        lines.push(format!(
            "Noise: two equal runs differ by up to {:.1} % ({name}); a smaller difference is noise.",
            floor * 100.0
        ));
    }
    lines.extend(notes_of(analysis).map(|warning| format!("Note: {warning}.")));
    lines
}

/// The warnings but those that [`provenance`] has, above all figures.
fn notes_of(analysis: &Analysis) -> impl Iterator<Item = &String> {
    analysis.warnings.iter().filter(|warning| !warning.starts_with("!!"))
}

/// Where the records come from; first of all, what should not have been put together.
fn provenance(records: &[Record]) -> Vec<String> {
    let runs = notes::runs(records);
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let known = |fact: fn(&Build) -> Option<&String>| {
        let known = runs.iter().find_map(|run| fact(&run.build));
        known.map(String::as_str)
    };
    let rustc = known(|build| build.rustc.as_ref()).unwrap_or("rustc of unknown version");
    let mut lines = comparison::pooled(&runs);
    let differing = |run: &&&Run| !first.machine.same_machine(&run.machine).is_empty();
    let others = runs.iter().filter(differing).copied();
    let machines = comparison::machines([*first].into_iter().chain(others));
    lines.push(machines.join("; and "));
    let many = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let rounds = records.iter().map(|r| r.round.saturating_add(1)).max();
    lines.push(format!(
        "{} in {} (seed {}), {rustc}{}",
        many(records.len(), "run"),
        many(rounds.unwrap_or(1) as usize, "round"),
        first.seed,
        runtimes(records),
    ));
    lines
}

/// The runtimes with their versions, each behind a comma.
fn runtimes(records: &[Record]) -> String {
    let mut names: Vec<String> = records
        .iter()
        .filter_map(|record| record.runtime.as_ref())
        .map(|runtime| {
            // Go's has its name in it.
            let version = runtime.version.as_deref().unwrap_or_default();
            let version = version.strip_prefix(&runtime.name).unwrap_or(version);
            format!(", {} {version}", runtime.name).trim_end().to_owned()
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names.concat()
}

/// Writes text that a terminal may be shown, whatever the records hold: see [`plain`].
fn plainly(
    out: &mut impl Write,
    write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    out.write_all(plain(&String::from_utf8_lossy(&text)).as_bytes())
}

/// A cell with nothing in it.
const ABSENT: &str = "-";

/// Why two rows less their I/O have no ratio.
const NO_NET: &str = "none: one of them is not above its I/O in every round";

/// A table of the analysis as text.
pub fn grid(table: &Table) -> Grid {
    match table.metric {
        Metric::Memory => memory::grid(table),
        _ => reading_grid(table),
    }
}

fn reading_grid(table: &Table) -> Grid {
    let mut head = vec![String::new()];
    head.extend(table.columns.iter().map(|name| match name.as_str() {
        "" => table.metric.quantity().noun().to_owned(),
        name => name.to_owned(),
    }));
    let mut body = Vec::new();
    for row in &table.rows {
        let figures = (0..).zip(&row.cells).map(|(column, cell)| match cell {
            // What is to be said of the runs is said once.
            Cell::Reading(reading) if table.is_further(column) => figure(reading),
            Cell::Reading(reading) => headline(reading),
            Cell::Failed(reason) => unmeasured(reason),
            Cell::Absent | Cell::Memory(_) => ABSENT.to_owned(),
        });
        body.push([row.name.clone()].into_iter().chain(figures).collect());
        body.extend(derived_lines(table, row));
    }
    Grid { head, body }
}

/// Lines below a row's figures, derived from those of the section's own metric.
fn derived_lines(table: &Table, row: &Row) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let mut line = |name: String, show: &dyn Fn(&Reading) -> Option<String>| {
        let mut any = false;
        let mut texts = vec![name];
        for (column, cell) in row.cells.iter().enumerate() {
            let text = match cell {
                _ if table.is_further(column) => {
                    texts.push(String::new());
                    continue;
                }
                Cell::Reading(reading) => show(reading),
                _ => None,
            };
            any |= text.is_some();
            texts.push(text.unwrap_or_else(|| ABSENT.to_owned()));
        }
        if any {
            lines.push(texts);
        }
    };
    line("  switches per hop".to_owned(), &|reading| {
        reading.evidence.as_ref().map(evidence::counts)
    });
    let quantity = table.metric.quantity();
    if let Some(baseline) = &row.baseline {
        line(format!("  less {baseline}"), &|reading| {
            reading.net.as_ref().map(|e| net(quantity, e))
        });
    }
    if let Some(versus) = &row.versus {
        line(format!("  ÷ {versus}"), &|reading| reading.ratio.as_ref().map(factor));
        let both = "  ÷ the same, both less their I/O";
        line(both.to_owned(), &|reading| match reading.no_net_left {
            true => Some(NO_NET.to_owned()),
            false => reading.net_ratio.as_ref().map(factor),
        });
    }
    lines
}
