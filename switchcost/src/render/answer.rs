//! The answer as text, at most 20 lines of 80 columns, and as Markdown.

use std::io::{self, Write};

use stats::Estimate;

use super::Grid;
use super::layout::wrapped;
use super::markdown::escaped;
use crate::figures::number::number;
use crate::views::answer::Answer;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// The answer's rows.
pub fn grid(answer: &Answer) -> Grid {
    let row = |row: &crate::views::answer::Row| {
        let [thread, task] =
            [row.thread, row.task].map(|figure| figure.show(row.metric.quantity()));
        vec![row.name.clone(), thread, task, ratio(&row.ratio)]
    };
    Grid {
        head: ["", "OS thread", "async task", "thread ÷ task"].map(str::to_owned).to_vec(),
        body: answer.rows.iter().map(row).collect(),
    }
}

/// Writes the answer for a terminal.
///
/// # Errors
/// Errors of the writer.
pub fn text(answer: &Answer, out: &mut Vec<u8>) -> io::Result<()> {
    for doubt in &answer.doubts {
        wrapped(&doubt.to_string(), 0, WIDTH, out)?;
    }
    if !answer.doubts.is_empty() {
        writeln!(out)?;
    }
    wrapped(&answer.machine, 0, WIDTH, out)?;
    writeln!(out)?;
    grid(answer).write_text(u16::MAX, out)?;
    writeln!(out)?;
    let last = answer.conditions.to_string();
    answer.matters.iter().chain([&last]).try_for_each(|line| wrapped(line, 0, WIDTH, out))
}

/// Writes the answer as Markdown.
///
/// # Errors
/// Errors of the writer.
pub fn markdown(answer: &Answer, out: &mut Vec<u8>) -> io::Result<()> {
    for doubt in &answer.doubts {
        writeln!(out, "**{}**\n", escaped(&doubt.to_string()))?;
    }
    writeln!(out, "{}\n", escaped(&answer.machine))?;
    grid(answer).write_markdown(out)?;
    let lines = answer.matters.iter().cloned().chain([answer.conditions.to_string()]);
    writeln!(out, "\n{}", escaped(&lines.collect::<Vec<_>>().join(" ")))
}

/// A ratio with its interval.
pub(super) fn ratio(ratio: &Estimate) -> String {
    match ratio.interval {
        Some(i) => format!("{}x [{}, {}]", number(ratio.value), number(i.low), number(i.high)),
        None => format!("{}x (n = {})", number(ratio.value), ratio.n),
    }
}
