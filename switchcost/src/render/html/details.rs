//! What stands behind the tables: each case's distribution, its failed runs and its command.

use std::collections::BTreeSet;
use std::io::{self, Write};

use harness::record::Record;
use harness::units::Nanos;

use super::markup::Escaped;
use crate::cases::{Cases, Key, Runs, Time};

/// The columns of the table of cases, after the names.
const HEAD: [&str; 10] = [
    "runs", "failed", "median", "min", "p50", "p90", "p99", "max", "outliers", "A/A",
];

/// A case's name with its place on a curve.
fn name(key: &Key, runs: &Runs<'_>) -> String {
    let name = runs.position.name();
    match (&runs.position.over, key.x) {
        (Some(over), Some(x)) => format!("{name}, --{} {x}", over.replace('_', "-")),
        _ => name,
    }
}

/// Writes the table of cases, section by section.
pub(super) fn cases(records: &[Record], out: &mut impl Write) -> io::Result<()> {
    let cases = Cases::of(records);
    let mut section = None;
    for (key, runs) in cases.in_order() {
        let time = cases.time(key);
        let failed = failures(records, key);
        if time.is_none() && failed.is_empty() {
            // A slope of memory has no distribution.
            continue;
        }
        if section != Some(&key.section) {
            if section.is_some() {
                end_table(out)?;
            }
            section = Some(&key.section);
            begin_table(&key.section, out)?;
        }
        if let Some(time) = time.filter(|_| runs.position.metric != harness::record::Metric::Memory)
        {
            line(&name(key, runs), &time, out)?;
        }
        for record in failed {
            failure(&name(key, runs), record, out)?;
        }
    }
    match section {
        Some(_) => end_table(out),
        None => writeln!(
            out,
            "<p>No case of this file has a distribution of times.</p>"
        ),
    }
}

fn begin_table(title: &str, out: &mut impl Write) -> io::Result<()> {
    let title = Escaped(title);
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">\n<table>\n\
         <caption>{title}</caption>\n<thead><tr><td></td>"
    )?;
    for head in HEAD {
        write!(out, "<th scope=\"col\">{head}</th>")?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")
}

fn end_table(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "</tbody>\n</table>\n</div>")
}

fn line(name: &str, time: &Time, out: &mut impl Write) -> io::Result<()> {
    let [p50, p90, p99, max] = time.percentiles;
    write!(
        out,
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
        Escaped(name),
        time.mean.n,
        time.failed
    )?;
    for ns in [time.median, time.min, p50, p90, p99, max] {
        write!(out, "<td>{}</td>", Nanos(ns))?;
    }
    let noise = time.noise.map_or_else(
        || "–".to_owned(),
        |noise| {
            format!(
                "{:.3} [{:.3}, {:.3}]",
                noise.estimate, noise.low, noise.high
            )
        },
    );
    writeln!(out, "<td>{}</td><td>{noise}</td></tr>", time.outliers)
}

/// The runs of a case that did not measure what they should.
fn failures<'a>(records: &'a [Record], key: &Key) -> Vec<&'a Record> {
    records
        .iter()
        .filter(|record| record.error.is_some() || record.partial)
        .filter(|record| {
            let position = record.plan.as_ref();
            position.is_some_and(|position| Key::of(position, record) == *key)
        })
        .collect()
}

fn failure(name: &str, record: &Record, out: &mut impl Write) -> io::Result<()> {
    let round = record
        .plan
        .as_ref()
        .map_or(0, |position| position.round + 1);
    let reason = record.error.as_deref().unwrap_or("interrupted");
    writeln!(
        out,
        "<tr class=\"failed\"><th scope=\"row\">{}, round {round}</th>\
         <td colspan=\"{}\">failed: {}</td></tr>",
        Escaped(name),
        HEAD.len(),
        Escaped(reason)
    )
}

/// The seeds of the records' rounds with the number of rounds.
pub(super) fn seeds(records: &[Record]) -> Vec<(u64, u32)> {
    let mut seeds: Vec<(u64, u32)> = Vec::new();
    for position in records.iter().filter_map(|record| record.plan.as_ref()) {
        // A curve's rounds are those of another command.
        let rounds = position.round + 1;
        match seeds.iter_mut().find(|(seed, _)| *seed == position.seed) {
            Some((_, most)) => *most = rounds.max(*most),
            None => seeds.push((position.seed, rounds)),
        }
    }
    seeds
}

/// Every case's command lines, each once, with the case's name as a comment before them.
pub(super) fn commands(records: &[Record]) -> String {
    let cases = Cases::of(records);
    let mut text = String::new();
    let mut section = None;
    for (key, runs) in cases.in_order() {
        let commands: BTreeSet<Vec<String>> = records
            .iter()
            .filter(|record| {
                let position = record.plan.as_ref();
                position.is_some_and(|position| Key::of(position, record) == *key)
            })
            .map(|record| bare(&record.command_line))
            .collect();
        if section != Some(&key.section) {
            let gap = if section.is_some() { "\n" } else { "" };
            text += &format!("{gap}## {}\n", first_line(&key.section));
            section = Some(&key.section);
        }
        text += &format!("# {}\n", first_line(&name(key, runs)));
        let mut commands: Vec<Vec<String>> = commands.into_iter().collect();
        commands.sort_by_key(|words| {
            // Task counts in their order as numbers.
            let numbers = words.iter().map(|word| word.parse::<u64>().unwrap_or(0));
            numbers.collect::<Vec<u64>>()
        });
        for words in commands {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            text += &format!("{}\n", words.join(" "));
        }
    }
    text
}

/// What follows a comment's sign must not reach into the next line, where it would be a command.
fn first_line(text: &str) -> &str {
    crate::render::figures::first_line(text).trim()
}

/// A command line without the folder of its program, which means nothing elsewhere.
fn bare(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    if let Some(program) = words.first_mut()
        && let Some((_, name)) = program.rsplit_once('/')
    {
        *program = name.to_owned();
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
        let words = ["/a/b/thread-brigade".to_owned(), "--tasks".to_owned()];
        assert_eq!(bare(&words), ["thread-brigade", "--tasks"]);
    }
}
