//! A duel as text: a tally, then a table for each section with a line for each figure. What changed comes
//! first.

use std::collections::BTreeMap;

use contract::units::counted;
use stats::Interval;

use super::document::Section;
use super::{ABSENT, Document, Grid, sizes};
use crate::figures::duel::verdict::{Finding, KINDS, Kind};
use crate::figures::duel::{Fault, Row};
use crate::figures::grouped;
use crate::figures::number::{bracketed, capitalised, change_in_percent, percent};
use crate::figures::verdict::Verdict;
use crate::views::duel::Duel;

/// A duel's verdicts.
pub fn document(duel: &Duel) -> Document {
    let mut rows: Vec<&Row> = duel.rows.iter().collect();
    rows.sort_by_key(|row| !row.findings.iter().any(|finding| finding.verdict.has_changed()));
    let mut head = head(duel);
    head.push(String::new());
    head.extend(KINDS.iter().filter_map(|&kind| tally(kind, &rows)));
    let judged = rows.into_iter().filter(|row| !row.findings.is_empty());
    let sections = grouped(judged.map(|row| (row.section.as_str(), row)));
    let sections = sections.iter().map(|(title, rows)| section(title, rows)).collect();
    Document { head, sections, foot: without_findings(&duel.rows) }
}

/// The machine, both sides and what the verdicts mean.
fn head(duel: &Duel) -> Vec<String> {
    let [a, b] = &duel.sides;
    let meaning = format!(
        "intervals of {} for all rows together; unchanged: within ± {}",
        percent(duel.confidence),
        percent(duel.margin)
    );
    let mut lines: Vec<String> = duel.doubts.iter().map(ToString::to_string).collect();
    lines.extend([duel.machine.clone(), format!("A: {a}"), format!("B: {b}"), meaning]);
    lines
}

/// Number of rows with each verdict on a figure; `None` if no row has the figure.
fn tally(kind: Kind, rows: &[&Row]) -> Option<String> {
    let words = rows.iter().filter_map(|row| {
        let finding = row.findings.iter().find(|finding| finding.kind == kind);
        let has_fault = row.findings.is_empty() && kind == row.kind();
        let word = finding.map(|finding| finding.verdict.word(kind.quantity()));
        word.or(has_fault.then(|| fault(row).0))
    });
    let counts = grouped(words.map(|word| (word, ())));
    let name = match kind {
        Kind::Time => "time per hop/task",
        Kind::Memory => "memory per task (RSS)",
        Kind::Switches => "voluntary switches per hop/task",
        Kind::Faults => "minor faults per hop/task",
    };
    (!counts.is_empty()).then(|| format!("{name}: {}", sizes(counts)))
}

/// Reason why a row has no findings: a word, and a sentence.
fn fault(row: &Row) -> (&'static str, String) {
    match &row.fault {
        Some(Fault::Failed(why)) => ("failed", why.clone()),
        Some(Fault::LeftOut(why)) => ("left out", why.clone()),
        None => ("unfinished", format!("only {}", counted(row.pairs.len(), "pair"))),
    }
}

/// Table of a section, and why figures have no verdict.
fn section(title: &str, rows: &[&Row]) -> Section {
    let mut body = Vec::new();
    let mut lines = Vec::new();
    for (row, finding) in rows.iter().flat_map(|row| row.findings.iter().map(move |f| (row, f))) {
        if let Verdict::Inconclusive(why) = finding.verdict {
            let twin = finding.twin.filter(|twin| !twin.contains(0.0));
            let by =
                twin.map_or(String::new(), |twin| format!(" by {}", change(row, finding, &twin)));
            lines.push(format!("{}: {why}{by}", row.name));
        }
        // The tally says enough of what both sides have next to none of.
        if !finding.is_scarce() {
            body.push(cells(row, finding));
        }
    }
    let grid = Grid::new(["", "verdict", "A to B", "A", "B"], body).ending_in_pair();
    Section { title: title.to_owned(), grid, lines }
}

/// Line of a finding; that of a count is indented, below the time of its row.
fn cells(row: &Row, finding: &Finding) -> Vec<String> {
    let name = match finding.kind {
        Kind::Time | Kind::Memory => &*row.name,
        Kind::Switches => "  voluntary switches",
        Kind::Faults => "  minor faults",
    };
    let quantity = finding.kind.quantity();
    let is_none = finding.change.is_some_and(|change| change.estimate == 0.0);
    let exact = if finding.is_exact { ", exact" } else { "" };
    let verdict = match finding.verdict {
        Verdict::Within(0.0) if is_none => format!("the same{exact}"),
        Verdict::Within(0.0) => "the same".to_owned(),
        // Why stands below the table.
        Verdict::Inconclusive(_) => finding.verdict.word(quantity).to_owned(),
        verdict if verdict.has_changed() => verdict.in_full(quantity) + exact,
        verdict => verdict.in_full(quantity),
    };
    let change = finding
        .change
        .map_or(ABSENT.to_owned(), |interval| finding.grade.mark(&change(row, finding, &interval)));
    let mut cells = vec![name.to_owned(), verdict, change];
    cells.extend(finding.figures.map_or([ABSENT; 2].map(str::to_owned), |figures| {
        figures.map(|figure| finding.grade.mark(&quantity.show(figure)))
    }));
    cells
}

/// A change with its interval: in per cent, or as a difference for each hop or task.
fn change(row: &Row, finding: &Finding, change: &Interval) -> String {
    if finding.is_share {
        let show = |value: f64| change_in_percent(1.0 + value);
        return format!("{} % {}", show(change.estimate), bracketed(change, show));
    }
    let show = |value: f64| format!("{value:+.3}");
    let unit = if finding.kind == Kind::Memory { "task" } else { row.unit };
    format!("{}/{unit} {}", show(change.estimate), bracketed(change, show))
}

/// Names of the rows without findings, by their reasons.
fn without_findings(rows: &[Row]) -> Vec<String> {
    let mut reasons: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.findings.is_empty()) {
        reasons.entry(fault(row)).or_default().push(&row.name);
    }
    let lines = reasons
        .into_iter()
        .map(|((word, why), names)| format!("{}: {} ({why})", capitalised(word), names.join("; ")));
    lines.collect()
}
