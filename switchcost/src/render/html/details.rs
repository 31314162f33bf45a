//! Evidence behind the tables: the distribution of each case, its failed runs, and the commands that repeat it.

use maud::{Markup, html};
use record::{Record, Run};

use super::tables::scrolled;
use crate::figures::cases::{Cases, Key, Reading, Runs};
use crate::figures::notes;
use crate::render::Grid;

/// Columns of the table of cases, after the names.
const HEAD: [&str; 8] = ["runs", "failed", "median", "min", "p90", "p99", "max", "outliers"];

/// A case's name with its place on a curve.
fn name(key: &Key, runs: &Runs<'_>) -> String {
    let name = key.name();
    match (&runs.place.case.over, key.x) {
        (Some(over), Some(x)) => format!("{name}, {} = {x}", over.replace('_', " ")),
        _ => name,
    }
}

/// The cases of each section as a table, with the reasons of failed runs.
pub(super) fn cases(records: &[Record]) -> Markup {
    let cases = Cases::of(records);
    let mut sections: Vec<(&str, Grid)> = Vec::new();
    for (key, runs) in cases.in_order() {
        let failed = match runs.view.further {
            true => Vec::new(),
            false => failures(&name(key, runs), records, key),
        };
        let line = cases.reading(key).map(|reading| line(name(key, runs), &reading));
        if line.is_none() && failed.is_empty() {
            continue;
        }
        if sections.last().is_none_or(|(title, _)| *title != key.section) {
            let head = [""].iter().chain(&HEAD).map(|&head| head.to_owned());
            sections.push((&key.section, Grid { head: head.collect(), body: Vec::new() }));
        }
        if let Some((_, grid)) = sections.last_mut() {
            grid.body.extend(line.into_iter().chain(failed));
        }
    }
    html! {
        p {
            "Times of iterations, divided by their hops or tasks: medians over the processes, except for the \
             shortest (min) and the longest (max) of all. Outliers are process means outside Tukey's fences; \
             they are counted and kept."
        }
        @for (title, grid) in &sections { h3 { (title) } (scrolled(grid, title, true)) }
    }
}

fn line(name: String, reading: &Reading) -> Vec<String> {
    let iterations = reading.iterations.as_ref();
    let [_, p90, p99, max] = iterations.map_or([None; 4], |i| i.percentiles.map(Some));
    let show =
        |figure: Option<f64>| figure.map_or("–".to_owned(), |f| reading.quantity().show(f));
    vec![
        name,
        reading.mean.n.to_string(),
        reading.failed.to_string(),
        show(Some(reading.median)),
        show(iterations.map(|i| i.min)),
        show(p90),
        show(p99),
        show(max),
        reading.outliers.to_string(),
    ]
}

/// A line for each run of a case that is no sample, with its reason.
fn failures(name: &str, records: &[Record], key: &Key) -> Vec<Vec<String>> {
    let failed = records.iter().filter(|record| !record.is_whole() && key.is_of(record));
    let line = |record: &Record| {
        let reason = match &record.error {
            Some(error) => format!("failed: {error}"),
            None if record.disturbed => "measured again: the host took CPU time".to_owned(),
            None => "failed: interrupted".to_owned(),
        };
        let round = record.round.saturating_add(1);
        vec![format!("{name}, round {round}"), reason]
    };
    failed.map(line).collect()
}

/// The commands that measure all of it again.
pub(super) fn repeat(records: &[Record]) -> Markup {
    html! {
        p { "The same cases in the same order:" }
        pre { @for command in runs(records) { (command) "\n" } }
        p { code { "switchcost run --list" } " prints the command of each case." }
    }
}

/// The commands that made the records, one for each run, with the seed that sets the order.
fn runs(records: &[Record]) -> Vec<String> {
    let command = |run: &Run| {
        let words = if run.command.is_empty() { "run" } else { &run.command };
        let seed = match words.contains("--seed") {
            true => String::new(),
            false => format!(" --seed {}", run.seed),
        };
        format!("cargo run --release -- {words}{seed}")
    };
    notes::runs(records).into_iter().map(command).collect()
}
