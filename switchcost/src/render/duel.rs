//! A duel as text: a tally, then a line for each figure of each row, those that changed first.

use std::io::{self, Write};

use record::Quantity;

use super::layout::wrapped;
use super::plainly;
use crate::figures::duel::judge::{Fault, Finding, Judged, JudgedRow, KINDS, Kind, Row, Verdict};
use crate::system::console::plain_line;

/// Widest line.
const WIDTH: usize = 100;

/// Widths of a row's name, which may be longer, of its verdict and of its figures.
const NAME: usize = 32;
const VERDICT: usize = 23;
const CHANGE: usize = 8;
const INTERVAL: usize = 15;
const FIGURE: usize = 9;

/// Verdicts in the order of the tally.
const WORDS: [&str; 11] = [
    "slower",
    "faster",
    "more",
    "fewer",
    "less",
    "unchanged",
    "no verdict",
    "inconclusive",
    "failed",
    "left out",
    "unfinished",
];

/// Writes a duel's verdicts for a terminal.
///
/// # Errors
/// Errors of the writer.
pub fn text(duel: &Judged, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| {
        wrapped(&duel.machine, 0, WIDTH, out)?;
        for (letter, side) in ["A", "B"].into_iter().zip(&duel.sides) {
            wrapped(&format!("{letter}: {}", plain_line(side)), 3, WIDTH, out)?;
        }
        let confidence = duel.confidence * 100.0;
        let quiet = duel.quiet.map_or(String::new(), |share| {
            format!("; {:.0} % of the slices were quiet", share * 100.0)
        });
        wrapped(
            &format!(
                "intervals of {confidence} % for all rows together; unchanged: within ± {} %{quiet}\n",
                duel.margin * 100.0
            ),
            0,
            WIDTH,
            out,
        )?;
        if duel.quiet.is_some_and(|share| share < 0.25) {
            wrapped(
                "The machine was disturbed most of the time: all slices count. Repeat it when it is quiet.",
                0,
                WIDTH,
                out,
            )?;
        }
        for kind in KINDS {
            tally(kind, &duel.rows, out)?;
        }
        KINDS.iter().try_for_each(|&kind| table(kind, &duel.rows, out))?;
        left_out(&duel.rows, out)
    })
}

/// The finding about a figure of each row. What failed or was left out is told with the time.
fn of_kind(kind: Kind, rows: &[JudgedRow]) -> impl Iterator<Item = (&Row, Option<&Finding>)> {
    let of_row = move |judged: &JudgedRow| judged.findings.iter().position(|f| f.kind == kind);
    rows.iter().filter_map(move |judged| match of_row(judged) {
        Some(at) => Some((&judged.row, Some(&judged.findings[at]))),
        None if judged.findings.is_empty() && kind == Kind::Time => Some((&judged.row, None)),
        None => None,
    })
}

fn word(row: &Row, finding: Option<&Finding>) -> &'static str {
    match (finding.map(|f| (f.kind, &f.verdict)), &row.fault) {
        (Some((Kind::Time, Verdict::More)), _) => "slower",
        (Some((Kind::Time, Verdict::Less)), _) => "faster",
        (Some((_, Verdict::More)), _) => "more",
        (Some((Kind::Memory, Verdict::Less)), _) => "less",
        (Some((_, Verdict::Less)), _) => "fewer",
        (Some((_, Verdict::Within(_))), _) => "unchanged",
        (Some((_, Verdict::Open(_))), _) => "no verdict",
        (Some((_, Verdict::Inconclusive(_))), _) => "inconclusive",
        (None, Some(Fault::Failed(_))) => "failed",
        (None, Some(Fault::LeftOut(_))) => "left out",
        (None, None) => "unfinished",
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Time => "time per hop/task",
        Kind::Memory => "memory per task (RSS)",
        Kind::Switches => "voluntary switches per hop/task",
        Kind::Faults => "minor faults per hop/task",
    }
}

/// How many rows have each verdict.
fn tally(kind: Kind, rows: &[JudgedRow], out: &mut Vec<u8>) -> io::Result<()> {
    let words: Vec<&str> = of_kind(kind, rows).map(|(r, f)| word(r, f)).collect();
    let count = |wanted: &str| words.iter().filter(|&&word| word == wanted).count();
    let counts: Vec<String> = WORDS
        .iter()
        .filter(|&&word| count(word) > 0)
        .map(|word| format!("{} {word}", count(word)))
        .collect();
    if !counts.is_empty() {
        writeln!(out, "{}: {}", name(kind), counts.join(", "))?;
    }
    Ok(())
}

fn table(kind: Kind, rows: &[JudgedRow], out: &mut Vec<u8>) -> io::Result<()> {
    // Where both sides have nothing of it, the tally says enough.
    let is_shown = |finding: &Finding| {
        !finding.kind.is_count() || finding.figures.iter().any(|&figure| figure >= 0.0005)
    };
    let has_changed = |finding: &Option<&Finding>| {
        finding.is_some_and(|f| matches!(f.verdict, Verdict::More | Verdict::Less))
    };
    // What was left out has no line of its own.
    let mut shown: Vec<(&Row, Option<&Finding>)> = of_kind(kind, rows)
        .filter(|(row, finding)| match finding {
            Some(finding) => is_shown(finding),
            None => !matches!(row.fault, Some(Fault::LeftOut(_))),
        })
        .collect();
    shown.sort_by_key(|(_, finding)| !has_changed(finding));
    let mut section = None;
    for (row, finding) in shown {
        if section.is_none() {
            writeln!(out)?;
            let columns = format!("{:>CHANGE$} {:<INTERVAL$}", "A to B", "interval");
            let figures = format!("{:>FIGURE$} {:>FIGURE$}", "A", "B");
            writeln!(out, "{:<NAME$} {:<VERDICT$}{columns} {figures}", name(kind), "")?;
        }
        if section != Some(&row.section) {
            wrapped(&row.section, 0, WIDTH, out)?;
        }
        section = Some(&row.section);
        match finding {
            Some(finding) => write_finding(row, finding, out)?,
            None => write_fault(row, out)?,
        }
    }
    Ok(())
}

/// Names the rows that were left out, by their reasons.
fn left_out(rows: &[JudgedRow], out: &mut Vec<u8>) -> io::Result<()> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for judged in rows {
        let Some(Fault::LeftOut(why)) = &judged.row.fault else { continue };
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(&judged.row.name),
            None => reasons.push((why, vec![&judged.row.name])),
        }
    }
    for (why, names) in reasons {
        writeln!(out)?;
        wrapped(&format!("Left out, {why}: {}", names.join("; ")), 2, WIDTH, out)?;
    }
    Ok(())
}

fn write_finding(row: &Row, finding: &Finding, out: &mut Vec<u8>) -> io::Result<()> {
    let bare = |change: f64| match finding.is_share {
        true => format!("{:+.1}", change * 100.0),
        false => format!("{change:+.3}"),
    };
    let show = |change: f64| bare(change) + if finding.is_share { " %" } else { "" };
    let verdict = match &finding.verdict {
        Verdict::Within(0.0) => "the same".to_owned(),
        Verdict::Within(limit) => {
            format!("unchanged within {}", show(*limit).trim_start_matches('+'))
        }
        Verdict::Open(reach) => format!("no verdict: ± {}", show(*reach).trim_start_matches('+')),
        _ => word(row, Some(finding)).to_owned(),
    };
    let exact = match finding.verdict {
        Verdict::Within(limit) if limit > 0.0 => "",
        _ if finding.is_exact => ", exact",
        _ => "",
    };
    let brackets = |low, high| format!("[{}, {}]", bare(low), bare(high));
    let (change, interval) = match finding.change {
        Some(c) => (show(c.estimate), brackets(c.low, c.high)),
        None => (String::new(), String::new()),
    };
    let quantity = match finding.kind {
        Kind::Time => Quantity::Time,
        Kind::Memory => Quantity::Bytes,
        Kind::Switches | Kind::Faults => Quantity::Count,
    };
    let [a, b] = finding.figures.map(|figure| quantity.show(figure));
    let columns = format!("{change:>CHANGE$} {interval:<INTERVAL$} {a:>FIGURE$} {b:>FIGURE$}");
    line(&format!("  {:<1$} {2:<VERDICT$}{columns}", row.name, NAME - 2, verdict + exact), out)?;
    match (&finding.verdict, finding.twin) {
        (Verdict::Inconclusive(why), Some(t)) if !t.contains(0.0) => {
            let differs = format!("{why} by {} {}", show(t.estimate), brackets(t.low, t.high));
            reason(&differs, out)
        }
        (Verdict::Inconclusive(why), _) => reason(why, out),
        _ => Ok(()),
    }
}

fn write_fault(row: &Row, out: &mut Vec<u8>) -> io::Result<()> {
    let verdict = match &row.fault {
        None => format!("only {} pairs", row.pairs.len()),
        _ => word(row, None).to_owned(),
    };
    line(&format!("  {:<1$} {verdict}", row.name, NAME - 2), out)?;
    match &row.fault {
        Some(Fault::Failed(why)) => reason(why, out),
        _ => Ok(()),
    }
}

/// Writes why there is no verdict, below its row.
fn reason(why: &str, out: &mut Vec<u8>) -> io::Result<()> {
    wrapped(&format!("    {why}"), 4, WIDTH, out)
}

/// Writes a line that is no wider than all are.
fn line(text: &str, out: &mut Vec<u8>) -> io::Result<()> {
    match text.chars().count() > WIDTH {
        true => writeln!(out, "{}…", text.chars().take(WIDTH - 1).collect::<String>()),
        false => writeln!(out, "{}", text.trim_end()),
    }
}
