//! Views as text for a terminal, as Markdown, as a page, as CSV and as SVG.

use std::fmt::Display;

use contract::units::counted;

use crate::figures::conditions::{Conditions, all_doubts};
use crate::figures::known;
use crate::figures::number::{Shown, number};
use crate::figures::{Figures, provenance};
use crate::views::tables::Tables;
use crate::views::{conclusion, sessions};

pub mod answer;
mod csv;
mod curves;
mod document;
pub(crate) mod estimate;
pub mod fleet;
mod grid;
mod html;
pub mod layout;
pub mod limits;
pub mod machine;
mod machines;
mod markdown;
pub mod plot;
pub(crate) mod published;
pub mod stat;
mod tables;
pub mod verdicts;

pub use csv::csv;
pub use document::Document;
pub use grid::Grid;
pub use html::html;
pub use machines::machines;

/// A cell with nothing in it.
const ABSENT: &str = "-";

/// Figures in full.
pub fn document(figures: &Figures<'_>) -> Document {
    let shown = Tables::of(figures);
    let mut head: Vec<String> = all_doubts(figures).iter().map(ToString::to_string).collect();
    head.extend(conclusion::parts(figures, &shown));
    head.extend(origin(figures));
    let Tables { tables, curves } = shown;
    let tables = tables.iter().map(tables::section);
    Document {
        head,
        sections: tables.chain(curves.iter().map(curves::section)).collect(),
        foot: foot(figures),
    }
}

/// Where the records come from.
fn origin(figures: &Figures<'_>) -> [String; 2] {
    let records = figures.records;
    let runs = provenance::runs(records);
    let rounds = records.iter().map(|record| record.round.saturating_add(1)).max().unwrap_or(1);
    let runtimes = provenance::runtimes(records).into_iter().map(|name| format!(", {name}"));
    let from = format!(
        "{} in {} (seed {}), {}{}",
        counted(records.len(), "run"),
        counted(rounds, "round"),
        runs.first().map_or(0, |run| run.seed),
        runs.iter()
            .find_map(|run| run.build.rustc.as_deref())
            .unwrap_or("rustc of unknown version"),
        runtimes.collect::<String>(),
    );
    [provenance::machines(records), from]
}

/// A share in per cent.
fn share(share: f64) -> Shown {
    let number = if share < 0.0001 { "under 0.01".to_owned() } else { number(share * 100.0) };
    Shown { number, unit: "%" }
}

/// A whole number with commas.
fn counts(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok());
    groups.collect::<Vec<_>>().join(",")
}

/// Remarks on all tables: how to read them, and doubts about them.
fn foot(figures: &Figures<'_>) -> Vec<String> {
    let mut lines = vec![
        "In brackets: 95 % intervals from whole processes as samples. Times are at the machine's quiet speed. ~ marks a disturbed figure, ! one that its counters contradict."
            .to_owned(),
    ];
    let known = known::measured(figures);
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    lines.extend(
        (!known.is_empty()).then(|| format!("Beside known machines: {}.", known.join("; "))),
    );
    let held_out = &figures.held_out;
    lines.extend((!held_out.0.is_empty()).then(|| format!("Correction: {held_out}.")));
    let conditions = Conditions::of(figures);
    lines.push(conditions.to_string());
    if sessions::of(figures.records).len() > 1 {
        lines.push(
            "Sessions are pooled in the tables: only the answer takes each as a sample.".to_owned(),
        );
    }
    lines.extend(figures.noise_floor().map(|(name, floor)| {
        format!(
            "Noise: two equal runs differ by up to {:.1} % ({name}); a smaller difference is noise.",
            floor * 100.0
        )
    }));
    lines
}

/// Sizes of groups in words, such as `3 faster, 1 slower`.
fn sizes(groups: Vec<(impl Display, Vec<()>)>) -> String {
    let counts = groups.iter().map(|(word, group)| format!("{} {word}", group.len()));
    counts.collect::<Vec<_>>().join(", ")
}
