//! A comparison as text for a terminal or as Markdown.

use std::io::{self, Write};

use contract::units;
use stats::{Estimate, MIN_ROUNDS};

use super::figures::{bracketed, first_line, headline};
use super::markdown::escaped;
use super::{Grid, plainly};
use crate::CONFIDENCE;
use crate::compare::{Change, Comparison, Figure, File, Line, Section, Subject, Verdict};

/// Writes a comparison for a terminal.
///
/// # Errors
/// Errors of the writer.
pub fn text(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| write_text(comparison, out))
}

fn write_text(comparison: &Comparison, out: &mut Vec<u8>) -> io::Result<()> {
    for line in provenance(comparison).iter().chain(&marks(comparison)) {
        writeln!(out, "{line}")?;
    }
    for section in &comparison.sections {
        writeln!(out, "\n{}", section.title)?;
        grid(comparison, section).write_text(out)?;
    }
    writeln!(out)?;
    for line in remarks(comparison) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Writes a comparison as Markdown.
///
/// # Errors
/// Errors of the writer.
pub fn markdown(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| write_markdown(comparison, out))
}

fn write_markdown(comparison: &Comparison, out: &mut Vec<u8>) -> io::Result<()> {
    for line in provenance(comparison) {
        writeln!(out, "{}  ", escaped(&line))?;
    }
    for line in marks(comparison) {
        writeln!(out, "\n**{}**", escaped(&line))?;
    }
    for section in &comparison.sections {
        writeln!(out, "\n**{}**\n", escaped(&section.title))?;
        grid(comparison, section).write_markdown(out)?;
    }
    for line in remarks(comparison) {
        writeln!(out, "\n{}", escaped(&line))?;
    }
    Ok(())
}

/// Name of each file in the tables.
fn label(comparison: &Comparison, file: usize) -> &str {
    match (comparison.files.len(), file) {
        (2, 0) => "old",
        (2, _) => "new",
        _ => &comparison.files[file].name,
    }
}

/// Where the records come from.
fn provenance(comparison: &Comparison) -> Vec<String> {
    let line = |(index, file): (usize, &File)| {
        let machines = file.machines.join("; and ");
        let runs = file.records;
        match comparison.files.len() {
            2 => {
                let label = label(comparison, index);
                format!("{label}: {}, {runs} runs on {machines}", file.name)
            }
            _ => format!("{}: {runs} runs on {machines}", file.name),
        }
    };
    comparison.files.iter().enumerate().map(line).collect()
}

/// What sets the files apart, loudly.
fn marks(comparison: &Comparison) -> Vec<String> {
    let line = |mark: &crate::compare::Mark| {
        let what = match mark.subject {
            Subject::Machine => "DIFFERENT MACHINE OR SETTINGS",
            Subject::Build => "DIFFERENT BUILD",
            Subject::Flags => "DIFFERENT FLAGS",
        };
        let facts: Vec<String> = mark.facts.iter().map(ToString::to_string).collect();
        format!("!! {what} in {}: {}", label(comparison, mark.file), facts.join(", "))
    };
    comparison.marks.iter().map(line).collect()
}

/// A section as a table: two files side by side with what became of each case in the same line,
/// more of them with it below.
fn grid(comparison: &Comparison, section: &Section) -> Grid {
    match comparison.files.len() {
        2 => pair_grid(section),
        _ => side_by_side(comparison, section),
    }
}

fn pair_grid(section: &Section) -> Grid {
    let first_change = |line: &Line| line.changes.first().cloned().flatten();
    let with_floor = section
        .lines
        .iter()
        .any(|line| first_change(line).is_some_and(|c| c.noise_floor.is_some()));
    let mut head = vec!["", "old", "new", "change"];
    if with_floor {
        head.push("noise floor");
    }
    head.push("verdict");
    let row = |line: &Line| {
        let change = first_change(line);
        let mut texts = vec![line.name.clone()];
        texts.extend(line.figures.iter().map(figure));
        let ratio = change.as_ref().and_then(|c| c.ratio);
        texts.push(ratio.map_or_else(dash, |r| percent(&r)));
        if with_floor {
            let floor = change.as_ref().and_then(|c| c.noise_floor);
            texts.push(floor.map_or_else(dash, |f| format!("{:.1} %", f * 100.0)));
        }
        texts.push(change.map_or_else(dash, |c| verdict(&c)));
        texts
    };
    Grid {
        head: head.into_iter().map(str::to_owned).collect(),
        body: section.lines.iter().map(row).collect(),
    }
}

fn side_by_side(comparison: &Comparison, section: &Section) -> Grid {
    let mut head = vec![String::new()];
    head.extend((0..comparison.files.len()).map(|file| label(comparison, file).to_owned()));
    let mut body = Vec::new();
    for line in &section.lines {
        let mut figures = vec![line.name.clone()];
        figures.extend(line.figures.iter().map(figure));
        body.push(figures);
        let mut changes = vec![format!("  against {}", label(comparison, 0)), String::new()];
        changes.extend(line.changes.iter().map(|change| match change {
            None => dash(),
            Some(change) => {
                let verdict = match change.verdict {
                    Verdict::OnlyInOld => "not in this file".to_owned(),
                    Verdict::OnlyInNew => format!("not in {}", label(comparison, 0)),
                    // There is little room.
                    Verdict::NoDifference => "no difference".to_owned(),
                    _ => verdict(change),
                };
                match &change.ratio {
                    Some(ratio) => format!("{}: {verdict}", percent(ratio)),
                    None => verdict,
                }
            }
        }));
        body.push(changes);
    }
    Grid { head, body }
}

fn dash() -> String {
    "-".to_owned()
}

fn figure(figure: &Figure) -> String {
    match figure {
        Figure::Absent => dash(),
        Figure::Failed(reason) => format!("failed: {}", first_line(reason)),
        Figure::Reading(reading) => headline(reading),
        Figure::Slope(line) => {
            let slope = &line.slope;
            format!(
                "{} {}",
                units::bytes(slope.estimate),
                bracketed(slope, |v| units::bytes_like(v, slope.estimate))
            )
        }
    }
}

/// A ratio as a change in per cent, without the sign.
fn points(ratio: f64) -> String {
    let text = format!("{:+.1}", (ratio - 1.0) * 100.0);
    match text.as_str() {
        "+0.0" | "-0.0" => "0.0".to_owned(),
        _ => text,
    }
}

/// A ratio as a change in per cent, with its interval.
pub fn percent(ratio: &Estimate) -> String {
    match &ratio.interval {
        Some(interval) => format!("{} % {}", points(ratio.value), bracketed(interval, points)),
        None => format!("{} %", points(ratio.value)),
    }
}

fn verdict(change: &Change) -> String {
    match change.verdict {
        Verdict::Faster => "faster".to_owned(),
        Verdict::Slower => "slower".to_owned(),
        Verdict::Smaller => "smaller".to_owned(),
        Verdict::Larger => "larger".to_owned(),
        Verdict::Lower => "lower".to_owned(),
        Verdict::Higher => "higher".to_owned(),
        Verdict::NoDifference => "no difference that this noise can show".to_owned(),
        Verdict::WithinNoise => "within the noise floor".to_owned(),
        Verdict::TwoModes => "two modes".to_owned(),
        Verdict::TooFewRounds => format!("under {MIN_ROUNDS} rounds: no verdict"),
        Verdict::Unclear => "no verdict: a size that may be zero".to_owned(),
        Verdict::OnlyInOld => "only in old".to_owned(),
        Verdict::OnlyInNew => "only in new".to_owned(),
        Verdict::Failed => "failed".to_owned(),
    }
}

/// How the table is to be read, and what should make a reader doubt it.
fn remarks(comparison: &Comparison) -> Vec<String> {
    let mut remarks = vec![format!(
        "In brackets: {:.0} % intervals, each for itself. The verdicts hold together: of equal \
         runs, at most one comparison in {:.0} calls any of its {} changes different (Holm).",
        CONFIDENCE * 100.0,
        1.0 / crate::compare::LEVEL,
        comparison.family
    )];
    let have = |verdict: Verdict| {
        let mut changes = comparison.changes();
        changes.any(|(_, _, change)| change.verdict == verdict)
    };
    if have(Verdict::WithinNoise) {
        remarks.push(
            "Within the noise floor: smaller than what two equal runs of a round differ by."
                .to_owned(),
        );
    }
    if have(Verdict::TwoModes) {
        remarks.push(
            "Two modes: the processes fall into two clusters, and no mean tells of both; nothing \
             is compared."
                .to_owned(),
        );
    }
    remarks.extend(drift(comparison));
    remarks.extend(pressure(comparison));
    let several = comparison.files.len() > 2;
    for (index, file) in comparison.files.iter().enumerate() {
        for warning in &file.warnings {
            let label = if several { &file.name } else { label(comparison, index) };
            remarks.push(format!("Note on {label}: {warning}."));
        }
    }
    remarks
}

/// What the baselines did: they have no task to switch to, so that a change of theirs is one of
/// the kernel or of the machine's moment. It is told, and nothing is corrected for it.
fn drift(comparison: &Comparison) -> Vec<String> {
    let mut remarks = Vec::new();
    for file in 1..comparison.files.len() {
        let about = |which: usize| which == file;
        let ratios: Vec<f64> = comparison
            .changes()
            .filter(|(line, which, _)| line.is_baseline && about(*which))
            .filter_map(|(_, _, change)| Some(change.ratio?.value))
            .collect();
        let ends = [f64::min, f64::max].map(|end| ratios.iter().copied().reduce(end));
        let [Some(least), Some(most)] = ends else {
            continue;
        };
        remarks.push(format!(
            "The baselines, which switch nothing, changed in {} by {} to {} %. Nothing is \
             corrected for it.",
            label(comparison, file),
            points(least),
            points(most)
        ));
        let carried: Vec<&str> = comparison
            .changes()
            .filter(|(_, which, change)| {
                let same = change.baseline.is_some_and(|(_, v)| v == change.verdict);
                about(*which) && change.verdict.is_different() && same
            })
            .map(|(line, _, _)| line.name.as_str())
            .collect();
        if !carried.is_empty() {
            remarks.push(format!(
                "Doubt these: the baseline changed the same way, so it may be the machine and not \
                 the program: {}.",
                carried.join("; ")
            ));
        }
    }
    remarks
}

/// How busy the machine was.
fn pressure(comparison: &Comparison) -> Option<String> {
    let of_files: Vec<String> = comparison
        .files
        .iter()
        .enumerate()
        .filter_map(|(i, file)| Some(format!("{} {:.1} %", label(comparison, i), file.pressure?)))
        .collect();
    (!of_files.is_empty()).then(|| {
        format!(
            "In the ten seconds before a run some task waited for a CPU for this share of the time \
             (median; earlier runs count): {}.",
            of_files.join(", ")
        )
    })
}
