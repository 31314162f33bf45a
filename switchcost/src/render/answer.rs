//! The answer as text, at most 22 lines, and as Markdown.

use std::io::{self, Write};

use contract::units::counted;
use stats::MIN_ROUNDS;

use super::layout::wrapped;
use super::markdown::escaped;
use super::{ABSENT, Grid, verdicts};
use crate::figures::known::Beside;
use crate::figures::number::{number, range};
use crate::figures::verdict::Verdict;
use crate::views::answer::{Answer, AnswerRow, Earlier, THREAD_AND_TASK};

/// Most columns of the answer's sentences.
const WIDEST: usize = 80;

/// Sentences on when the figures matter that are never left out for a doubt.
const FEWEST: usize = 2;

/// Most lines of the answer, unless its figures are void.
const TALLEST: usize = 22;

/// The answer's rows.
pub fn grid(answer: &Answer) -> Grid {
    let lines = answer.rows.iter().map(|row| line(name(answer, row), row)).collect();
    let [one, other] = sides(answer);
    verdicts::grid([one, other, &quotient(answer)], lines)
}

/// A row as a line of verdicts: both costs, their ratio, and what it says of the first.
pub(super) fn line(name: String, row: &AnswerRow) -> [String; 5] {
    let [thread, task] = [row.thread, row.task].map(|cost| cost.show(row.metric.quantity()));
    let verdict = match row.verdict() {
        Verdict::Within(_) => "equal",
        verdict => verdict.word(row.metric.quantity()),
    };
    [name, thread, task, ratio(row), verdict.to_owned()]
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

/// Writes the answer for a terminal of so many columns. Doubts come before what the figures matter for. `more` is
/// the command that prints the tables of its records, if it can be typed.
pub fn text(
    answer: &Answer,
    more: Option<&str>,
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut all = body(answer, width, answer.matters.len())?;
    let least = body(answer, width, FEWEST.min(answer.matters.len()))?;
    let width = width.min(WIDEST);
    let more = more.map_or(String::new(), |more| format!(": {more}"));
    // A command stays in one line, to be copied.
    let last = String::from_utf8_lossy(&least).lines().last().map_or(0, |l| l.chars().count());
    let fits = last + " More".len() + more.chars().count() <= width;
    let own_line = usize::from(!fits && !more.is_empty());
    let (mut head, is_cut) = head(answer, &more, width, lines(&least), own_line)?;
    let own_line = if is_cut { 0 } else { own_line };
    if lines(&head) + lines(&all) + own_line > TALLEST {
        all = least;
    }
    if !is_cut && !more.is_empty() {
        if own_line == 0 {
            all.pop();
            all.push(b' ');
        }
        writeln!(all, "More{more}")?;
    }
    head.append(&mut all);
    out.write_all(&head)
}

/// The machine, the rows, some sentences on when they matter, and how far to trust them.
fn body(answer: &Answer, width: usize, matters: usize) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    let prose = width.min(WIDEST);
    wrapped(&answer.origin(), 0, prose, &mut body)?;
    writeln!(body)?;
    // Its few columns stay abreast; without room for the verdicts the ratios have to do.
    grid(answer).without_last_beyond(width).write_text(width.max(100), &mut body)?;
    writeln!(body)?;
    for line in missing(answer) {
        wrapped(&line, 0, prose, &mut body)?;
    }
    let last = last(answer);
    for line in answer.matters[..matters].iter().chain(&last) {
        wrapped(line, 0, prose, &mut body)?;
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
        1 => answer.conditions.in_short(&answer.doubts),
        sessions => {
            let hours = answer.conditions.span as f64 / 3.6e6;
            let brackets = if sessions < MIN_ROUNDS { "range" } else { "95 %" };
            format!("{sessions} sessions in {hours:.1} h, each a sample; brackets: {brackets}.")
        }
    });
    lines
}

/// What precedes an answer of so many lines: how its machine differs from known ones, and as many doubts as there
/// is room for, the loudest first. Those that void its figures always have room. True if some are left out: then the
/// command that prints them stands here, and not in a line of its own at the end.
fn head(
    answer: &Answer,
    more: &str,
    width: usize,
    body: usize,
    own_line: usize,
) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::new();
    let mut is_cut = false;
    if let Some(beside) = &answer.beside {
        wrapped(&beside.alarm(), 0, width, &mut head)?;
    }
    for (index, doubt) in answer.doubts.iter().enumerate() {
        let left = answer.doubts.len() - index;
        let mut text = Vec::new();
        wrapped(&doubt.with_names(1), 0, width, &mut text)?;
        // An empty line follows, and one for what is left.
        let rest = 1 + if left > 1 { 1 } else { own_line };
        if !doubt.voids() && lines(&head) + lines(&text) + rest + body > TALLEST {
            writeln!(head, "{}{more}", counted(left, "more doubt"))?;
            is_cut = true;
            break;
        }
        head.extend(text);
    }
    if !head.is_empty() {
        writeln!(head)?;
    }
    Ok((head, is_cut))
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// Writes the answer as Markdown.
pub fn markdown(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    let beside = answer.beside.iter().map(Beside::alarm);
    for line in beside.chain(answer.doubts.iter().map(ToString::to_string)) {
        writeln!(out, "**{}**\n", escaped(&line))?;
    }
    writeln!(out, "{}\n", escaped(&answer.origin()))?;
    grid(answer).write_markdown(out)?;
    let lines = [missing(answer), answer.matters.clone(), last(answer)].concat();
    writeln!(out, "\n{}", escaped(&lines.join(" ")))
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
