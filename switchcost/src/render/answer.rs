//! The answer as text, at most 20 lines, and as Markdown.

use std::io::{self, Write};

use super::layout::wrapped;
use super::markdown::escaped;
use super::{Grid, plainly};
use crate::figures::grade::Graded;
use crate::figures::number::number;
use crate::views::answer::{Answer, AnswerRow};

/// Most columns of the answer.
const WIDEST: usize = 80;

/// The answer's rows.
pub fn grid(answer: &Answer) -> Grid {
    let body =
        answer.rows.iter().map(|AnswerRow { name, metric, thread, task, ratio: of, .. }| {
            let [thread, task] = [thread, task].map(|cost| cost.show(metric.quantity()));
            vec![name.clone(), thread, task, ratio(of)]
        });
    Grid::new(["", "OS thread", "async task", "thread ÷ task"], body.collect())
}

/// Writes the answer for a terminal of so many columns.
pub fn text(answer: &Answer, width: usize, out: &mut impl Write) -> io::Result<()> {
    let width = width.min(WIDEST);
    plainly(out, |out| {
        for doubt in &answer.doubts {
            wrapped(&doubt.to_string(), 0, width, out)?;
        }
        if !answer.doubts.is_empty() {
            writeln!(out)?;
        }
        wrapped(&answer.machine, 0, width, out)?;
        writeln!(out)?;
        // Its few columns stay abreast.
        grid(answer).write_text(width.max(100), out)?;
        writeln!(out)?;
        let last = answer.conditions.in_short();
        answer.matters.iter().chain([&last]).try_for_each(|line| wrapped(line, 0, width, out))
    })
}

/// Writes the answer as Markdown.
pub fn markdown(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| {
        for doubt in &answer.doubts {
            writeln!(out, "**{}**\n", escaped(&doubt.to_string()))?;
        }
        writeln!(out, "{}\n", escaped(&answer.machine))?;
        grid(answer).write_markdown(out)?;
        let lines = [&answer.matters[..], &[answer.conditions.in_short()]].concat();
        writeln!(out, "\n{}", escaped(&lines.join(" ")))
    })
}

/// A ratio with its interval.
pub(super) fn ratio(ratio: &Graded) -> String {
    let text = match ratio.interval {
        Some(i) => format!("{}x [{}, {}]", number(ratio.value), number(i.low), number(i.high)),
        None => format!("{}x (n = {})", number(ratio.value), ratio.n),
    };
    ratio.grade.mark(&text)
}
