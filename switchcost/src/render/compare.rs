//! A comparison as tables.

use std::cmp::Reverse;

use contract::units::counted;
use facts::Quantity;
use stats::{Estimate, Line};

use super::document::Section;
use super::tables::{cell, first_line};
use super::{ABSENT, Document, Grid, sizes};
use crate::figures::number::{self, change, change_in_percent};
use crate::figures::verdict::{Reason, Verdict};
use crate::figures::{CONFIDENCE, grouped};
use crate::views::compare::{Case, Comparison, LEVEL, Side};

/// What the two files are called.
const LABELS: [&str; 2] = ["old", "new"];

/// A comparison in full.
pub fn document(comparison: &Comparison<'_>) -> Document {
    let mut head = vec![tally(comparison)];
    for (label, file) in LABELS.into_iter().zip(&comparison.files) {
        head.push(format!(
            "{label}: {}, {} on {}",
            file.name,
            counted(file.records, "run"),
            file.machines
        ));
    }
    let subjects = ["MACHINE OR SETTINGS", "BUILD", "FLAGS"];
    for (subject, facts) in subjects.into_iter().zip(&comparison.marks) {
        if !facts.is_empty() {
            let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
            head.push(format!("!! DIFFERENT {subject}: {}", facts.join(", ")));
        }
    }
    let sections = grouped(comparison.cases.iter().map(|case| (&case.key.section, case)));
    Document {
        head,
        sections: sections.into_iter().map(|(title, cases)| section(title, &cases)).collect(),
        foot: remarks(comparison),
    }
}

fn section(title: &str, cases: &[&Case<'_>]) -> Section {
    let mut body = Vec::new();
    let mut failures = Vec::new();
    for case in cases {
        let shown = case
            .change
            .shown()
            .map_or(ABSENT.to_owned(), |shown| case.grade().mark(&change(shown)));
        let mut line =
            vec![case.name.clone(), case.change.verdict.in_full(case.metric.quantity()), shown];
        for (label, side) in LABELS.into_iter().zip(&case.sides) {
            line.push(match side {
                Side::Absent => ABSENT.to_owned(),
                Side::Failed(reason) => {
                    failures.push(((label, first_line(reason)), case.name.as_str()));
                    "failed".to_owned()
                }
                Side::Figure(figure) => cell(Some(figure)),
                Side::Slope(Line { slope, .. }) => {
                    let (value, n) = (slope.estimate, slope.n);
                    number::value(Quantity::Bytes, &Estimate { value, n, interval: Some(*slope) })
                }
            });
        }
        body.push(line);
    }
    let grid = Grid::new(["", "verdict", "change", LABELS[0], LABELS[1]], body).ending_in_pair();
    let lines = grouped(failures)
        .into_iter()
        .map(|((label, why), names)| format!("{} failed in {label}: {why}.", names.join("; ")));
    Section { title: title.to_owned(), grid, lines: lines.collect() }
}

/// Number of cases with each verdict, most first.
fn tally(comparison: &Comparison<'_>) -> String {
    let cases = comparison.cases.iter();
    let mut counts = grouped(cases.map(|case| (case.word(), ())));
    counts.sort_by_key(|(_, cases)| Reverse(cases.len()));
    sizes(counts)
}

/// How the tables are to be read, and what should make a reader doubt them.
fn remarks(comparison: &Comparison<'_>) -> Vec<String> {
    let have = |verdict| comparison.cases.iter().any(|case| case.change.verdict == verdict);
    let mut remarks = vec![format!(
        "Unchanged: the whole interval lies within ± {}. In brackets: {:.0} % intervals; of a change the one that \
         decides, which is wider. The verdicts hold together: of equal runs of one session, at most one comparison in {:.0} calls any of its {} changes different; sessions differ by more.",
        number::percent(comparison.margin),
        CONFIDENCE * 100.0,
        1.0 / LEVEL,
        comparison.family
    )];
    if have(Verdict::Inconclusive(Reason::TwoModes)) {
        remarks.push(
            "Two modes: the processes fall into two clusters, and no mean describes both; nothing is compared."
                .to_owned(),
        );
    }
    if let Some((low, high)) = comparison.moved {
        let mut text = format!(
            "Work that depends on the machine alone changed by {} to {} %. The change of any other time is the \
             one beside each of these, round by round; old and new are as measured.",
            change_in_percent(low),
            change_in_percent(high)
        );
        if comparison.cases.iter().any(|case| case.change.verdict.is_open()) {
            text += " No verdict: `switchcost duel` may tell, in turns.";
        }
        remarks.push(text);
    } else {
        remarks.push(
            "No row of both files depends on the machine alone: times were compared as they are."
                .to_owned(),
        );
    }
    for (label, file) in LABELS.into_iter().zip(&comparison.files) {
        remarks.extend(file.doubts.iter().map(|doubt| format!("Note on {label}: {doubt}")));
    }
    remarks
}
