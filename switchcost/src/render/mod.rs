//! Views as text for a terminal, as Markdown, as a page, as CSV and as SVG.

use std::io::{self, Write};

use crate::figures::{Figures, doubt, provenance};
use crate::system::console::plain;
use crate::views::tables::Tables;

pub mod answer;
pub mod compare;
mod csv;
mod curves;
mod document;
pub mod duel;
pub mod fleet;
mod grid;
mod html;
pub mod layout;
pub mod limits;
pub mod machine;
mod markdown;
pub mod plot;
pub mod stat;
mod tables;

pub use csv::csv;
pub use document::Document;
pub use grid::Grid;
pub use html::{fleet_page, html};

/// A cell with nothing in it.
const ABSENT: &str = "-";

/// Figures in full.
pub fn document(figures: &Figures<'_>) -> Document {
    let Tables { tables, curves } = Tables::of(figures);
    let tables = tables.iter().map(tables::section);
    Document {
        head: head(figures),
        sections: tables.chain(curves.iter().map(curves::section)).collect(),
        foot: foot(figures),
    }
}

/// Where the records come from; first of all, what should not have been put together.
fn head(figures: &Figures<'_>) -> Vec<String> {
    let records = figures.records;
    let pooled = doubt::of_records(records).into_iter().filter(|doubt| doubt.is_loud());
    let runs = provenance::runs(records);
    let rustc = runs.iter().find_map(|run| run.build.rustc.as_deref());
    let rounds = records.iter().map(|record| record.round.saturating_add(1)).max().unwrap_or(1);
    let many = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let runtimes = provenance::runtimes(records).into_iter().map(|name| format!(", {name}"));
    let from = format!(
        "{} in {} (seed {}), {}{}",
        many(records.len(), "run"),
        many(rounds as usize, "round"),
        runs.first().map_or(0, |run| run.seed),
        rustc.unwrap_or("rustc of unknown version"),
        runtimes.collect::<String>(),
    );
    pooled.map(|doubt| doubt.to_string()).chain([provenance::machines(records), from]).collect()
}

/// Remarks on all tables: how to read them, and doubts about them.
fn foot(figures: &Figures<'_>) -> Vec<String> {
    let mut lines = vec![
        "In brackets: 95 % intervals from whole processes as samples. A note tells the worst of its cases."
            .to_owned(),
    ];
    if let Some((name, floor)) = figures.noise_floor() {
        lines.push(format!(
            "Noise: two equal runs differ by up to {:.1} % ({name}); a smaller difference is noise.",
            floor * 100.0
        ));
    }
    lines.extend(doubts(figures).into_iter().map(|doubt| format!("Note: {doubt}")));
    lines
}

/// Doubts that are said below all tables: not those above all figures, nor those beside their own.
fn doubts(figures: &Figures<'_>) -> Vec<String> {
    let of_records = doubt::of_records(figures.records).into_iter();
    let of_records = of_records.filter(|doubt| !doubt.is_loud()).map(|doubt| doubt.to_string());
    let of_figures = doubt::of_figures(figures).into_iter();
    let elsewhere = of_figures.filter(|(doubt, _)| !matches!(doubt, doubt::Doubt::Contradicted(_)));
    let of_figures = elsewhere.map(|(doubt, names)| match names {
        Some(names) => format!("{doubt} ({names})"),
        None => format!("{doubt} (every case)"),
    });
    of_records.chain(of_figures).collect()
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
