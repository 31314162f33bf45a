//! The answer as text, at most 22 lines, and as Markdown.

use std::io::{self, Write};

use contract::units::counted;
use stats::MIN_ROUNDS;

use super::layout::wrapped;
use super::markdown::escaped;
use super::{ABSENT, Grid, plainly};
use crate::figures::known::Beside;
use crate::figures::number::{number, range};
use crate::views::answer::{Answer, AnswerRow, Earlier, THREAD_AND_TASK};

/// Most columns of the answer.
const WIDEST: usize = 80;

/// Sentences on when the figures matter that are never left out for a doubt.
const FEWEST: usize = 2;

/// Most lines of the answer, unless its figures are void.
const TALLEST: usize = 22;

/// The answer's rows.
pub fn grid(answer: &Answer) -> Grid {
    let body = answer.rows.iter().map(|row| {
        let [thread, task] = [row.thread, row.task].map(|cost| cost.show(row.metric.quantity()));
        vec![name(answer, row), thread, task, ratio(row)]
    });
    let [one, other] = sides(answer);
    Grid::new(["", one, other, &quotient(answer)], body.collect())
}

/// Name of a row, with its sides if the rows of the answer have different ones.
pub(super) fn name(answer: &Answer, row: &AnswerRow) -> String {
    match answer.sides() {
        Some(_) => row.name.clone(),
        None => format!("{}: {}", row.name, row.sides().join(" ÷ ")),
    }
}

/// Names of the two columns.
pub(super) fn sides(answer: &Answer) -> [&str; 2] {
    answer.sides().unwrap_or(["first", "second"])
}

/// Name of the ratio.
pub(super) fn quotient(answer: &Answer) -> String {
    match sides(answer) {
        THREAD_AND_TASK => "thread ÷ task".to_owned(),
        sides => sides.join(" ÷ "),
    }
}

/// Writes the answer for a terminal of so many columns. Doubts come before what the figures matter for.
pub fn text(answer: &Answer, width: usize, out: &mut impl Write) -> io::Result<()> {
    let width = width.min(WIDEST);
    plainly(out, |out| {
        let mut all = body(answer, width, answer.matters.len())?;
        let least = body(answer, width, FEWEST.min(answer.matters.len()))?;
        let head = head(answer, width, lines(&least))?;
        if lines(&head) + lines(&all) > TALLEST {
            all = least;
        }
        out.write_all(&head)?;
        out.write_all(&all)
    })
}

/// The machine, the rows, some sentences on when they matter, and how far to trust them.
fn body(answer: &Answer, width: usize, matters: usize) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    wrapped(&answer.origin(), 0, width, &mut body)?;
    writeln!(body)?;
    // Its few columns stay abreast.
    grid(answer).write_text(width.max(100), &mut body)?;
    writeln!(body)?;
    for line in missing(answer) {
        wrapped(&line, 0, width, &mut body)?;
    }
    let last = last(answer);
    for line in answer.matters[..matters].iter().chain(&last) {
        wrapped(line, 0, width, &mut body)?;
    }
    Ok(body)
}

/// Rows that the answer lacks, each with its reason.
pub(super) fn missing(answer: &Answer) -> Vec<String> {
    let missing = answer.missing.iter();
    missing.map(|(reason, rows)| format!("Not measured: {}: {reason}.", rows.join("; "))).collect()
}

/// How far to trust an answer: what earlier ones said, and how noisy its session was or how many there were.
pub(super) fn last(answer: &Answer) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(Earlier { sessions, ratios }) = &answer.earlier {
        let ratios = ratios.iter().map(|ratio| {
            ratio.map_or(ABSENT.to_owned(), |ends| format!("{}x", range(ends, number)))
        });
        lines.push(format!(
            "Earlier answers here, row by row: {} ({}).",
            ratios.collect::<Vec<_>>().join(", "),
            counted(*sessions, "session")
        ));
    }
    lines.push(match answer.sessions {
        1 => answer.conditions.in_short(),
        sessions => {
            let hours = answer.conditions.span as f64 / 3.6e6;
            let brackets = if sessions < MIN_ROUNDS { "range" } else { "95 %" };
            format!("{sessions} sessions in {hours:.1} h, each a sample; brackets: {brackets}. More: report --full")
        }
    });
    lines
}

/// What precedes an answer of so many lines: how its machine differs from known ones, and as many doubts as there
/// is room for, the loudest first. Those that void its figures always have room.
fn head(answer: &Answer, width: usize, body: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    if let Some(beside) = &answer.beside {
        wrapped(&beside.alarm(), 0, width, &mut head)?;
    }
    for (index, stated) in answer.doubts.iter().enumerate() {
        let left = answer.doubts.len() - index;
        let mut doubt = Vec::new();
        wrapped(&stated.with_names(1), 0, width, &mut doubt)?;
        // An empty line follows, and one for what is left.
        let rest = 1 + usize::from(left > 1);
        if !stated.doubt.voids() && lines(&head) + lines(&doubt) + rest + body > TALLEST {
            writeln!(head, "{}: switchcost report FILE --full", counted(left, "more doubt"))?;
            break;
        }
        head.extend(doubt);
    }
    if !head.is_empty() {
        writeln!(head)?;
    }
    Ok(head)
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// Writes the answer as Markdown.
pub fn markdown(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| {
        let beside = answer.beside.iter().map(Beside::alarm);
        for line in beside.chain(answer.doubts.iter().map(ToString::to_string)) {
            writeln!(out, "**{}**\n", escaped(&line))?;
        }
        writeln!(out, "{}\n", escaped(&answer.origin()))?;
        grid(answer).write_markdown(out)?;
        let lines = [missing(answer), answer.matters.clone(), last(answer)].concat();
        writeln!(out, "\n{}", escaped(&lines.join(" ")))
    })
}

/// A ratio with its interval; of too few sessions for one, with their range.
pub(super) fn ratio(row: &AnswerRow) -> String {
    let ratio = &row.ratio;
    let text = match row.bounds() {
        Some([low, high]) => {
            format!("{}x [{}, {}]", number(ratio.value), number(low), number(high))
        }
        None => format!("{}x (n = {})", number(ratio.value), ratio.n),
    };
    ratio.grade.mark(&text)
}
