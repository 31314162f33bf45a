//! A duel as text: a tally, then a table for each section with a line for each figure; what changed comes
//! first.

use std::io::{self, Write};

use record::Quantity;
use stats::Interval;

use super::layout::wrapped;
use super::{ABSENT, Grid, plainly};
use crate::figures::duel::Fault;
use crate::figures::duel::verdict::{Finding, KINDS, Kind, Verdict};
use crate::figures::number::{bracketed, change_in_percent, percent};
use crate::measure::quiet::ENOUGH;
use crate::system::console::plain_line;
use crate::views::duel::{Duel, JudgedRow};

/// Counts below this are shown as none.
const NONE: f64 = 0.0005;

/// Writes a duel's verdicts for a terminal of `width` columns.
///
/// # Errors
/// Errors of the writer.
pub fn text(duel: &Duel, width: usize, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| {
        for line in head(duel) {
            wrapped(&line, 3, width, out)?;
        }
        let mut rows: Vec<&JudgedRow> = duel.rows.iter().collect();
        rows.sort_by_key(|row| !has_changed(row));
        for kind in KINDS {
            let counts = tally(kind, &rows);
            if !counts.is_empty() {
                wrapped(&format!("{}: {counts}", name(kind)), 3, width, out)?;
            }
        }
        while let Some(first) = rows.first().map(|first| first.row.section.clone()) {
            let of_first = |judged: &&JudgedRow| judged.row.section == first;
            let (section, others) = rows.into_iter().partition(of_first);
            write_section(&first, section, width, out)?;
            rows = others;
        }
        left_out(duel, width, out)
    })
}

/// The machine, both sides and what the verdicts mean.
fn head(duel: &Duel) -> Vec<String> {
    let mut lines = vec![duel.machine.clone()];
    let sides = ["A", "B"].into_iter().zip(&duel.sides);
    lines.extend(sides.map(|(letter, side)| format!("{letter}: {}", plain_line(side))));
    let [confidence, margin] = [duel.confidence, duel.margin].map(|share| share * 100.0);
    let quiet = duel.quiet.map_or(String::new(), |share| {
        format!("; {:.0} % of the slices were quiet", share * 100.0)
    });
    lines.push(format!(
        "intervals of {confidence} % for all rows together; unchanged: within ± {margin} %{quiet}"
    ));
    if duel.quiet.is_some_and(|share| share < ENOUGH) {
        lines.push(
            "The machine was disturbed most of the time: all slices count. Repeat it when it is quiet."
                .to_owned(),
        );
    }
    lines.push(String::new());
    lines
}

fn has_changed(judged: &JudgedRow) -> bool {
    judged.findings.iter().any(Finding::has_changed)
}

/// Name of a figure in the tally.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Time => "time per hop/task",
        Kind::Memory => "memory per task (RSS)",
        Kind::Switches => "voluntary switches per hop/task",
        Kind::Faults => "minor faults per hop/task",
    }
}

/// Number of rows with each verdict on a figure.
fn tally(kind: Kind, rows: &[&JudgedRow]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for judged in rows {
        let word = match judged.findings.iter().find(|finding| finding.kind == kind) {
            Some(finding) => word(finding),
            None if judged.findings.is_empty() && kind == judged.row.kind() => fault(judged),
            None => continue,
        };
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    counts.join(", ")
}

fn word(finding: &Finding) -> &'static str {
    match (&finding.verdict, finding.kind) {
        (Verdict::More, Kind::Time) => "slower",
        (Verdict::Less, Kind::Time) => "faster",
        (Verdict::More, _) => "more",
        (Verdict::Less, Kind::Memory) => "less",
        (Verdict::Less, _) => "fewer",
        (Verdict::Within(_), _) => "unchanged",
        (Verdict::Open(_), _) => "no verdict",
        (Verdict::Inconclusive(_), _) => "inconclusive",
    }
}

fn fault(judged: &JudgedRow) -> &'static str {
    match judged.row.fault {
        Some(Fault::Failed(_)) => "failed",
        Some(Fault::LeftOut(_)) => "left out",
        None => "unfinished",
    }
}

/// Writes the table of a section, and why rows have no verdict; nothing if all of it is left out.
fn write_section(
    title: &str,
    rows: Vec<&JudgedRow>,
    width: usize,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let head = ["", "verdict", "A to B", "A", "B"].map(str::to_owned).to_vec();
    let mut grid = Grid { head, body: Vec::new() };
    let mut reasons = Vec::new();
    for judged in rows {
        let name = &judged.row.name;
        let verdict = match &judged.row.fault {
            _ if !judged.findings.is_empty() => None,
            Some(Fault::LeftOut(_)) => continue,
            Some(Fault::Failed(why)) => {
                reasons.push(format!("  {name}: {why}"));
                Some("failed".to_owned())
            }
            None => Some(format!("only {} pairs", judged.row.pairs.len())),
        };
        grid.body.extend(verdict.map(|verdict| {
            let [change, a, b] = [ABSENT; 3].map(str::to_owned);
            vec![name.clone(), verdict, change, a, b]
        }));
        // If both sides have nothing of it, the tally says enough.
        let is_shown = |f: &&Finding| !f.kind.is_count() || f.figures.iter().any(|&n| n >= NONE);
        for finding in judged.findings.iter().filter(is_shown) {
            grid.body.push(cells(name, finding));
            if let Verdict::Inconclusive(why) = &finding.verdict {
                let twin = finding.twin.filter(|twin| !twin.contains(0.0));
                let twin =
                    twin.map_or(String::new(), |twin| format!(" by {}", change(finding, &twin)));
                reasons.push(format!("  {name}: {why}{twin}"));
            }
        }
    }
    if grid.body.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    wrapped(title, 0, width, out)?;
    grid.write_text(u16::try_from(width).unwrap_or(u16::MAX), out)?;
    reasons.iter().try_for_each(|reason| wrapped(reason, 4, width, out))
}

/// Line of a finding; that of a count is indented, below the time of its row.
fn cells(row: &str, finding: &Finding) -> Vec<String> {
    let (name, quantity) = match finding.kind {
        Kind::Time => (row, Quantity::Time),
        Kind::Memory => (row, Quantity::Bytes),
        Kind::Switches => ("  voluntary switches", Quantity::Count),
        Kind::Faults => ("  minor faults", Quantity::Count),
    };
    let exact = if finding.is_exact { ", exact" } else { "" };
    let verdict = match finding.verdict {
        Verdict::Within(0.0) => format!("the same{exact}"),
        Verdict::Open(reach) => format!("no verdict: ± {}", percent(reach)),
        Verdict::Less | Verdict::More => format!("{}{exact}", word(finding)),
        Verdict::Within(_) | Verdict::Inconclusive(_) => word(finding).to_owned(),
    };
    let change = finding.change.map_or(ABSENT.to_owned(), |interval| change(finding, &interval));
    let [a, b] = finding.figures.map(|figure| quantity.show(figure));
    vec![name.to_owned(), verdict, change, a, b]
}

/// A change with its interval: in per cent, or as a difference.
fn change(finding: &Finding, change: &Interval) -> String {
    if finding.is_share {
        let show = |share: f64| change_in_percent(1.0 + share);
        format!("{} % {}", show(change.estimate), bracketed(change, show))
    } else {
        let show = |difference: f64| format!("{difference:+.3}");
        format!("{} {}", show(change.estimate), bracketed(change, show))
    }
}

/// Names the rows that were left out, by their reasons.
fn left_out(duel: &Duel, width: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for judged in &duel.rows {
        let Some(Fault::LeftOut(why)) = &judged.row.fault else { continue };
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(&judged.row.name),
            None => reasons.push((why, vec![&judged.row.name])),
        }
    }
    for (why, names) in reasons {
        writeln!(out)?;
        wrapped(&format!("Left out, {why}: {}", names.join("; ")), 2, width, out)?;
    }
    Ok(())
}
