//! What stands behind the tables: each case's distribution, its failed runs and its command.

use std::collections::BTreeSet;
use std::io::{self, Write};

use harness::record::{PlanPosition, Record};

use super::markup::{Escaped, Figure};
use crate::cases::{Cases, Key, Reading, Runs};

/// The columns of the table of cases, after the names; the last only where a case ran twice in a
/// round.
const HEAD: [&str; 9] = [
    "runs", "failed", "median", "min", "p90", "p99", "max", "outliers", "A/A",
];

/// A case's name with its place on a curve.
fn name(key: &Key, runs: &Runs<'_>) -> String {
    let name = key.name();
    match (&runs.position.over, key.x) {
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
            groups.push(Group {
                title: &key.section,
                ..Group::default()
            });
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
    records
        .iter()
        .filter(|record| record.error.is_some() || record.partial)
        .filter(|record| {
            let position = record.plan.as_ref();
            position.is_some_and(|position| key.is_of(position, record))
        })
        .collect()
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
        let round = record
            .plan
            .as_ref()
            .map_or(0, |plan| plan.round.saturating_add(1));
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
    let mut runs: Vec<(&PlanPosition, u32)> = Vec::new();
    for position in records.iter().filter_map(|record| record.plan.as_ref()) {
        let rounds = position.round.saturating_add(1);
        let same = |p: &PlanPosition| (p.run, p.seed) == (position.run, position.seed);
        match runs.iter_mut().find(|(known, _)| same(known)) {
            Some((_, most)) => *most = rounds.max(*most),
            None => runs.push((position, rounds)),
        }
    }
    let command = |(position, rounds): &(&PlanPosition, u32)| {
        let mut line = format!(
            "cargo run --release -- {}",
            position.command.as_deref().unwrap_or("run")
        );
        let mut add = |flag: &str, value: String| {
            if !line.contains(flag) {
                line += &format!(" {flag} {value}");
            }
        };
        add("--seed", position.seed.to_string());
        let of_plan = |verb: &str| !matches!(verb, "sweep" | "memory");
        if of_plan(
            position
                .command
                .as_deref()
                .and_then(|c| c.split(' ').next())
                .unwrap_or(""),
        ) {
            add("--rounds", rounds.to_string());
            add("--budget", "0s".to_owned());
        }
        line
    };
    runs.iter().map(command).collect()
}

/// Every case's command lines, each once, with the case's name as a comment before them.
pub(super) fn commands(records: &[Record]) -> String {
    let cases = Cases::of(records);
    let mut text = String::new();
    let mut section = None;
    let own = cases.in_order().into_iter();
    for (key, runs) in own.filter(|(_, runs)| !runs.view.further) {
        let commands: BTreeSet<Vec<String>> = records
            .iter()
            .filter(|record| {
                let position = record.plan.as_ref();
                position.is_some_and(|position| key.is_of(position, record))
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
