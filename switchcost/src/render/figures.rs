//! Figures in full: all tables and curves, with notes on them.

use contract::units::counted;
use figures::between::SPREAD;
use figures::conditions::{Conditions, all_doubts};
use figures::{Figures, known, provenance, sessions, unique};
use stats::MIN_ROUNDS;

use super::document::{Document, Section};
use super::{curves, tables};
use crate::views::conclusion;
use crate::views::tables as views;

/// Figures in full.
pub fn document(figures: &Figures<'_>) -> Document {
    let mut head: Vec<String> = all_doubts(figures).iter().map(ToString::to_string).collect();
    head.extend(conclusion::parts(figures));
    head.extend(origin(figures));
    let mut sections: Vec<Section> = views::tables(figures).iter().map(tables::section).collect();
    sections.extend(views::curves(figures).iter().map(curves::section));
    Document { head, sections, foot: foot(figures) }
}

/// Where the records come from, and what they do not show.
pub(super) fn origin(figures: &Figures<'_>) -> Vec<String> {
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
            .find_map(|run| run.build.get("rustc")?.as_str())
            .unwrap_or("unknown version of rustc"),
        runtimes.collect::<String>(),
    );
    let notes = provenance::runs(records).into_iter().flat_map(|run| run.notes.clone());
    [provenance::machines(records), from].into_iter().chain(unique(notes)).collect()
}

/// Remarks on all tables: how to read them, and doubts about them.
pub(super) fn foot(figures: &Figures<'_>) -> Vec<String> {
    let intervals = match sessions::of(figures.records).len() {
        0 | 1 => &format!(
            "95 % confidence intervals, which allow for differences between sessions (standard deviation {SPREAD})"
        ),
        few if few < MIN_ROUNDS => "the span of the sessions' 95 % confidence intervals",
        _ => "95 % confidence intervals, with sessions as samples",
    };
    let mut lines = vec![format!(
        "In brackets: {intervals}. Times are corrected to the machine's quiet speed. ~ marks a disturbed figure; \
         ! marks a figure that its counters contradict."
    )];
    let known = known::measured(figures);
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    lines.extend(
        (!known.is_empty()).then(|| format!("Beside known machines: {}.", known.join("; "))),
    );
    lines.extend(figures.speed.correction().map(|errors| format!("Correction: {errors}.")));
    lines.push(Conditions::of(figures).to_string());
    lines
}
