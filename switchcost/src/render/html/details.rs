//! Evidence behind the tables: the distribution of each case, its failed runs, and the commands.

use maud::{Markup, html};
use record::{Record, Run};

use super::tables::scrolled;
use crate::cases::{Cases, Key, Reading, Runs};
use crate::notes;
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

/// A line for each failed run of a case, with its reason.
fn failures(name: &str, records: &[Record], key: &Key) -> Vec<Vec<String>> {
    let failed = records.iter().filter(|record| !record.is_whole() && key.is_of(record));
    let line = |record: &Record| {
        let reason = record.error.as_deref().unwrap_or("interrupted");
        let round = record.round.saturating_add(1);
        vec![format!("{name}, round {round}"), format!("failed: {reason}")]
    };
    failed.map(line).collect()
}

/// The commands that measure all of it again.
pub(super) fn repeat(records: &[Record]) -> Markup {
    html! {
        p { "The same cases in the same order:" }
        pre { @for command in runs(records) { (command) "\n" } }
        p { "Each case by itself; the programs are in " code { "target/release" } ":" }
        pre { (commands(records)) }
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

/// A command line for each case, with the case's name as a comment before it.
fn commands(records: &[Record]) -> String {
    let cases = Cases::of(records);
    let mut text = String::new();
    let mut section = None;
    for (key, runs) in cases.in_order().into_iter().filter(|(_, runs)| !runs.view.further) {
        if section.replace(&key.section) != Some(&key.section) {
            text += &format!("\n## {}\n", first_line(&key.section));
        }
        text += &format!("# {}\n", first_line(&name(key, runs)));
        if let Some(record) = records.iter().find(|r| !r.partial && key.is_of(r)) {
            let words: Vec<String> = command(record).iter().map(|word| quoted(word)).collect();
            text += &format!("{}\n", words.join(" "));
        }
    }
    text.trim_start().to_owned()
}

/// What follows a comment's sign must not reach into the next line, where it would be a command.
fn first_line(text: &str) -> &str {
    crate::render::figures::first_line(text).trim()
}

/// The command line that runs a process again by hand.
fn command(record: &Record) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    if let Some(cpus) = &record.cpus {
        add(&["taskset", "-c", cpus]);
    }
    if let Some(policy) = &record.policy {
        let priority = if policy == "fifo" { "1" } else { "0" };
        add(&["chrt", &format!("--{policy}"), priority]);
    }
    add(&[&record.program]);
    words.extend(record.args.iter().cloned());
    if let Some(samples) = &record.samples
        && !record.args.iter().any(|word| word == "--iters")
    {
        words.extend(["--iters".to_owned(), samples.count.to_string()]);
    }
    words
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (word, text) in [
            ("--tasks", "--tasks"),
            ("", "''"),
            ("echo {pid}", "'echo {pid}'"),
            ("it's", r"'it'\''s'"),
            ("$(rm)", "'$(rm)'"),
        ] {
            assert_eq!(quoted(word), text);
        }
    }
}
