//! What stands behind the tables: each case's distribution, its failed runs and its command.

use std::collections::BTreeSet;
use std::io::{self, Write};

use record::{Record, Run};

use super::markup::{Escaped, Figure};
use crate::cases::{Cases, Key, Reading, Runs};
use crate::notes;

/// The columns of the table of cases, after the names; the last only where a case ran twice in a
/// round.
const HEAD: [&str; 9] = ["runs", "failed", "median", "min", "p90", "p99", "max", "outliers", "A/A"];

/// A case's name with its place on a curve.
fn name(key: &Key, runs: &Runs<'_>) -> String {
    let name = key.name();
    match (&runs.place.case.over, key.x) {
        (Some(over), Some(x)) => format!("{name}, {} = {x}", over.replace('_', " ")),
        _ => name,
    }
}

/// One section's cases.
#[derive(Default)]
struct Group<'a> {
    title: &'a str,
    /// Each with its time, if it has one, and its failed runs.
    cases: Vec<(String, Option<Reading>, Vec<&'a Record>)>,
}

impl Group<'_> {
    fn head(&self) -> &'static [&'static str] {
        let has_noise =
            |reading: &Option<Reading>| reading.as_ref().is_some_and(|t| t.noise.is_some());
        match self.cases.iter().any(|(_, reading, _)| has_noise(reading)) {
            true => &HEAD,
            false => &HEAD[..HEAD.len() - 1],
        }
    }
}

/// Writes the table of cases, section by section.
pub(super) fn cases(records: &[Record], out: &mut impl Write) -> io::Result<()> {
    let cases = Cases::of(records);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (key, runs) in cases.in_order() {
        // A slope of memory is no figure of any run.
        let reading = cases.reading(key);
        let failed = match runs.view.further {
            true => Vec::new(),
            false => failed(records, key),
        };
        if reading.is_none() && failed.is_empty() {
            continue;
        }
        if groups.last().map(|group| group.title) != Some(&key.section) {
            groups.push(Group { title: &key.section, ..Group::default() });
        }
        if let Some(group) = groups.last_mut() {
            group.cases.push((name(key, runs), reading, failed));
        }
    }
    groups.iter().try_for_each(|group| table(group, out))
}

fn table(group: &Group<'_>, out: &mut impl Write) -> io::Result<()> {
    let title = Escaped(group.title);
    write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">\n<table>\n\
         <caption>{title}</caption>\n<thead><tr><td></td>"
    )?;
    for head in group.head() {
        write!(out, "<th scope=\"col\">{head}</th>")?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")?;
    for (name, reading, failed) in &group.cases {
        if let Some(reading) = reading {
            line(name, reading, group.head(), out)?;
        }
        failures(name, failed, group.head().len(), out)?;
    }
    writeln!(out, "</tbody>\n</table>\n</div>")
}

fn line(name: &str, reading: &Reading, head: &[&str], out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
        Escaped(name),
        reading.mean.n,
        reading.failed
    )?;
    let iterations = reading.iterations.as_ref();
    let [_, p90, p99, max] = iterations.map_or([None; 4], |i| i.percentiles.map(Some));
    let min = iterations.map(|i| i.min);
    for figure in [Some(reading.median), min, p90, p99, max] {
        match figure {
            Some(figure) => write!(out, "<td>{}</td>", reading.quantity().show(figure))?,
            None => write!(out, "<td>–</td>")?,
        }
    }
    write!(out, "<td>{}</td>", reading.outliers)?;
    if head.len() == HEAD.len() {
        let noise = reading.noise.map_or_else(
            || "–".to_owned(),
            |n| format!("{:.3} [{:.3}, {:.3}]", n.estimate, n.low, n.high),
        );
        write!(out, "<td>{}</td>", Figure(&noise))?;
    }
    writeln!(out, "</tr>")
}

/// The runs of a case that did not measure what they should.
fn failed<'a>(records: &'a [Record], key: &Key) -> Vec<&'a Record> {
    records.iter().filter(|record| !record.is_whole() && key.is_of(record)).collect()
}

/// Writes a line for each reason, with the rounds it holds for.
fn failures(
    name: &str,
    failed: &[&Record],
    columns: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut reasons: Vec<(&str, Vec<u32>)> = Vec::new();
    for record in failed {
        let round = record.round.saturating_add(1);
        let reason = record.error.as_deref().unwrap_or("interrupted");
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, rounds)) => rounds.push(round),
            None => reasons.push((reason, vec![round])),
        }
    }
    for (reason, rounds) in reasons {
        let which = match &rounds[..] {
            [round] => format!("round {round}"),
            rounds => format!("{} runs", rounds.len()),
        };
        writeln!(
            out,
            "<tr class=\"failed\"><th scope=\"row\">{}, {which}</th>\
             <td colspan=\"{columns}\">failed: {}</td></tr>",
            Escaped(name),
            Escaped(reason)
        )?;
    }
    Ok(())
}

/// The commands that made the records, one for each run, with the seed that it shuffled by and, for
/// a plan, as many rounds as it came to.
pub(super) fn runs(records: &[Record]) -> Vec<String> {
    let command = |run: &Run| {
        let words = match run.command.as_str() {
            "" => "run",
            words => words,
        };
        let mut line = format!("cargo run --release -- {words}");
        let mut add = |flag: &str, value: String| {
            if !line.contains(flag) {
                line += &format!(" {flag} {value}");
            }
        };
        add("--seed", run.seed.to_string());
        let verb = words.split(' ').next().unwrap_or_default();
        if !matches!(verb, "sweep" | "memory" | "scale") {
            let own = records.iter().filter(|record| record.run == run.id);
            let rounds = own.map(|record| record.round.saturating_add(1)).max();
            add("--rounds", rounds.unwrap_or(1).to_string());
            add("--budget", "0s".to_owned());
        }
        line
    };
    notes::runs(records).into_iter().map(command).collect()
}

/// Every case's command lines, each once, with the case's name as a comment before them.
pub(super) fn commands(records: &[Record]) -> String {
    let cases = Cases::of(records);
    let mut text = String::new();
    let mut section = None;
    let own = cases.in_order().into_iter();
    for (key, runs) in own.filter(|(_, runs)| !runs.view.further) {
        let commands: BTreeSet<Vec<String>> =
            records.iter().filter(|record| key.is_of(record)).map(command).collect();
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
