//! A duel as text: a tally, then the time of each row, then the counts that differ from nothing.

use std::io::{self, Write};

use contract::units::Nanos;
use record::Quantity;

use super::plainly;
use crate::duel::judge::{Fault, Finding, KINDS, Kind, Row, Verdict};

/// Widest line.
const WIDTH: usize = 100;

/// Width of the verdict and of the figures before a row's name.
const VERDICT: usize = 23;
const CHANGE: usize = 9;
const INTERVAL: usize = 17;
const FIGURE: usize = 9;

/// Writes a duel's findings for a terminal.
///
/// # Errors
/// Errors of the writer.
pub fn text(rows: &[Row], findings: &[Vec<Finding>], out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| write_text(rows, findings, out))
}

fn write_text(rows: &[Row], findings: &[Vec<Finding>], out: &mut Vec<u8>) -> io::Result<()> {
    for line in tally(rows, findings) {
        write_wrapped(&line, 0, out)?;
    }
    for kind in KINDS {
        let of_kind =
            |findings: &'_ Vec<Finding>| findings.iter().find(|f| f.kind == kind).cloned();
        let mut section = None;
        for (row, finding) in rows.iter().zip(findings.iter().map(of_kind)) {
            let is_shown = match &finding {
                // Nothing has nothing of it on both sides.
                Some(finding) => {
                    kind == Kind::Time || finding.figures != [0.0; 2] || is_change(finding)
                }
                None => kind == Kind::Time,
            };
            if !is_shown {
                continue;
            }
            if section.is_none() {
                let title = name(kind);
                writeln!(out, "\n{}{} per iteration", title[..1].to_uppercase(), &title[1..])?;
                let head =
                    format!("{:VERDICT$}{:>CHANGE$} {:<INTERVAL$}", "", "A to B", "interval");
                writeln!(out, "{head} {:>FIGURE$}", "A")?;
            }
            if section != Some(&row.section) {
                write_wrapped(&row.section, 0, out)?;
            }
            section = Some(&row.section);
            match finding {
                Some(finding) => write_finding(row, &finding, out)?,
                None => write_fault(row, out)?,
            }
        }
    }
    Ok(())
}

fn is_change(finding: &Finding) -> bool {
    matches!(finding.verdict, Verdict::More | Verdict::Less)
}

/// How many rows have each verdict, a line for each figure.
fn tally(rows: &[Row], findings: &[Vec<Finding>]) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in KINDS {
        let own: Vec<&Finding> = findings.iter().flatten().filter(|f| f.kind == kind).collect();
        let count = |is: &dyn Fn(&Finding) -> bool| own.iter().filter(|f| is(f)).count();
        let mut counts = vec![
            (count(&|f| f.verdict == Verdict::More), word(kind, true)),
            (count(&|f| f.verdict == Verdict::Less), word(kind, false)),
            (count(&|f| matches!(f.verdict, Verdict::Within(_))), "unchanged"),
            (count(&Finding::is_inconclusive), "inconclusive"),
        ];
        if kind == Kind::Time {
            let faults = |is: fn(&Fault) -> bool| {
                rows.iter().filter(|row| row.fault.as_ref().is_some_and(is)).count()
            };
            counts.push((faults(|fault| matches!(fault, Fault::Failed(_))), "failed"));
            counts.push((faults(|fault| !matches!(fault, Fault::Failed(_))), "left out"));
            let judged = findings.iter().filter(|findings| !findings.is_empty()).count();
            let without = rows.iter().filter(|row| row.fault.is_none()).count() - judged;
            counts.push((without, "unfinished"));
        }
        let exact = match count(&|f| f.is_exact) {
            0 => String::new(),
            n => format!(" ({n} exact)"),
        };
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, word)| format!("{n} {word}"))
            .collect();
        if !counts.is_empty() {
            lines.push(format!("{}: {}{exact}", name(kind), counts.join(", ")));
        }
    }
    let seconds = |row: &Row| match row.fault {
        Some(Fault::TooLong(seconds)) => Some(seconds),
        _ => None,
    };
    let seconds: u64 = rows.iter().filter_map(seconds).sum();
    if seconds > 0 {
        lines.push(format!(
            "rows that take longer than the budget allows need {seconds} s more: --budget, or --filter"
        ));
    }
    lines
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Time => "time",
        Kind::Switches => "voluntary switches",
        Kind::Faults => "minor page faults",
    }
}

fn word(kind: Kind, is_more: bool) -> &'static str {
    match (kind, is_more) {
        (Kind::Time, true) => "slower",
        (Kind::Time, false) => "faster",
        (_, true) => "more",
        (_, false) => "fewer",
    }
}

fn write_finding(row: &Row, finding: &Finding, out: &mut Vec<u8>) -> io::Result<()> {
    let show = |change: f64| match finding.is_share {
        true => format!("{:+.1} %", change * 100.0),
        false => format!("{change:+.3}"),
    };
    let bare = |change: f64| match finding.is_share {
        true => format!("{:+.1}", change * 100.0),
        false => format!("{change:+.3}"),
    };
    let verdict = match &finding.verdict {
        Verdict::More => word(finding.kind, true).to_owned(),
        Verdict::Less => word(finding.kind, false).to_owned(),
        Verdict::Within(0.0) => "the same".to_owned(),
        Verdict::Within(limit) => {
            format!("unchanged within {}", show(*limit).trim_start_matches('+'))
        }
        Verdict::Inconclusive(_) => "inconclusive".to_owned(),
    };
    let exact = match finding.verdict {
        Verdict::Within(limit) if limit > 0.0 => "",
        _ if finding.is_exact => ", exact",
        _ => "",
    };
    let (change, interval) = match finding.change {
        Some(c) => (show(c.estimate), format!("[{}, {}]", bare(c.low), bare(c.high))),
        None => (String::new(), String::new()),
    };
    let figure = match finding.kind {
        Kind::Time => Nanos(finding.figures[0]).to_string(),
        _ => Quantity::Count.show(finding.figures[0]),
    };
    let line = format!(
        "{:<VERDICT$}{change:>CHANGE$} {interval:<INTERVAL$} {figure:>FIGURE$}  {}",
        verdict + exact,
        row.name
    );
    writeln!(out, "{}", cut(&line))?;
    if let Verdict::Inconclusive(why) = &finding.verdict {
        let twin = match finding.twin {
            Some(t) if !t.contains(0.0) => {
                format!(" by {} [{}, {}]", show(t.estimate), bare(t.low), bare(t.high))
            }
            _ => String::new(),
        };
        write_wrapped(&format!("{why}{twin}"), 4, out)?;
    }
    Ok(())
}

fn write_fault(row: &Row, out: &mut Vec<u8>) -> io::Result<()> {
    let (verdict, why) = match &row.fault {
        Some(Fault::Failed(why)) => ("failed".to_owned(), why.as_str()),
        Some(Fault::LeftOut(why)) => ("left out".to_owned(), why.as_str()),
        Some(Fault::TooLong(seconds)) => (format!("left out, takes {seconds} s"), ""),
        None => (format!("only {} pairs", row.pairs.len()), ""),
    };
    writeln!(out, "{}", cut(&format!("{verdict:<VERDICT$} {}", row.name)))?;
    match why {
        "" => Ok(()),
        why => write_wrapped(why, 4, out),
    }
}

/// A line that is no wider than all are.
fn cut(line: &str) -> String {
    match line.chars().count() > WIDTH {
        true => line.chars().take(WIDTH - 1).chain(['…']).collect(),
        false => line.trim_end().to_owned(),
    }
}

/// Writes words on as many lines as they take; one word may be wider.
fn write_wrapped(text: &str, indent: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{:indent$}{line}", "")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    writeln!(out, "{:indent$}{line}", "")
}
