//! A comparison as tables.

use contract::units;
use stats::MIN_ROUNDS;

use super::figures::{first_line, headline};
use super::{Document, Grid};
use crate::figures::CONFIDENCE;
use crate::figures::number::{self, bracketed, change_in_percent};
use crate::views::compare::{Change, Comparison, Figure, File, Line, Section, Subject, Verdict};

/// A comparison in full.
pub fn document(comparison: &Comparison) -> Document {
    let mut head = vec![tally(comparison), String::new()];
    head.extend(provenance(comparison));
    head.extend(marks(comparison));
    let section = |section: &Section| super::Section {
        title: section.title.clone(),
        grid: grid(comparison, section),
        lines: Vec::new(),
    };
    let sections = comparison.sections.iter().map(section).collect();
    Document { head, sections, foot: remarks(comparison) }
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
    let line = |mark: &crate::views::compare::Mark| {
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
    let row = |line: &Line| {
        let change = line.changes.first().cloned().flatten();
        let mut texts = vec![line.name.clone()];
        texts.push(change.as_ref().map_or_else(dash, verdict));
        texts.push(change.as_ref().and_then(Change::shown).map_or_else(dash, number::change));
        texts.extend(line.figures.iter().map(figure));
        texts
    };
    let head = ["", "verdict", "change", "old", "new"].map(str::to_owned).to_vec();
    Grid { head, body: section.lines.iter().map(row).collect() }
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
                    _ => verdict(change),
                };
                match change.shown() {
                    Some(ratio) => format!("{}: {verdict}", number::change(ratio)),
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

fn verdict(change: &Change) -> String {
    match change.verdict {
        Verdict::Faster => "faster".to_owned(),
        Verdict::Slower => "slower".to_owned(),
        Verdict::Smaller => "smaller".to_owned(),
        Verdict::Larger => "larger".to_owned(),
        Verdict::Lower => "lower".to_owned(),
        Verdict::Higher => "higher".to_owned(),
        Verdict::NoDifference => "within noise".to_owned(),
        Verdict::Inconclusive => "inconclusive".to_owned(),
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
        "In brackets: {:.0} % intervals; of a change the one that decides, which is wider. The verdicts \
         hold together: of equal runs, at most one comparison in {:.0} calls any of its {} changes \
         different (Holm).",
        CONFIDENCE * 100.0,
        1.0 / crate::views::compare::LEVEL,
        comparison.family
    )];
    let have = |verdict: Verdict| {
        let mut changes = comparison.changes();
        changes.any(|(_, _, change)| change.verdict == verdict)
    };
    if have(Verdict::TwoModes) {
        remarks.push(
            "Two modes: the processes fall into two clusters, and no mean tells of both; nothing \
             is compared."
                .to_owned(),
        );
    }
    remarks.extend(moved(comparison));
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

/// How far the machine itself moved, and what can tell it from a change.
fn moved(comparison: &Comparison) -> Vec<String> {
    let mut remarks = Vec::new();
    for (file, moved) in (1..).zip(&comparison.moved) {
        let Some((low, high)) = moved.all else { continue };
        let pinned = moved.pinned.map_or(String::new(), |(low, high)| {
            format!(" (pinned: {} to {} %)", change_in_percent(low), change_in_percent(high))
        });
        let mut text = format!(
            "Work that depends on the machine alone changed in {} by {} to {} %{pinned}. The change of any \
             other time is the one beside each of these, round by round; old and new are as measured.",
            label(comparison, file),
            change_in_percent(low),
            change_in_percent(high)
        );
        let mut changes = comparison.changes();
        if changes.any(|(_, at, c)| at == file && c.verdict == Verdict::Inconclusive) {
            text += " Inconclusive: not beside all. `switchcost duel` can tell, in turns.";
        }
        remarks.push(text);
    }
    remarks
}

/// Number of cases by what became of them, most first.
fn tally(comparison: &Comparison) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for (_, _, change) in comparison.changes() {
        let name = verdict(change);
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let counts: Vec<String> = counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
    counts.join(", ")
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
