//! The answer as text, at most 22 lines, and as Markdown.

use std::io::{self, Write};

use contract::units::counted;
use figures::doubt::Kind;
use figures::known::Beside;
use figures::number::{bracketed, number, pair, short};
use figures::value::Value;
use record::Quantity;
use stats::MIN_ROUNDS;

use super::grid::Grid;
use super::layout::lines;
use super::markdown::escaped;
use crate::views::answer::{Answer, AnswerRow, THREAD_AND_TASK};

/// Most columns of the answer's sentences.
const WIDEST: usize = 80;

/// Sentences on when the figures matter that leave doubts no room.
const FEWEST: usize = 2;

/// Most lines of the answer, unless its figures are void.
const TALLEST: usize = 22;

/// What to do about wide intervals.
const NARROWER: &str = " Narrower intervals: --sessions=5.";

/// The answer's rows.
pub(super) fn grid(answer: &Answer) -> Grid {
    let line = |row: &AnswerRow| {
        let [thread, task] = [&row.thread, &row.task].map(cost);
        vec![name(answer, row), thread, task, ratio(&row.ratio)]
    };
    let [one, other] = sides(answer);
    Grid::new(["", one, other, &quotient(answer)], answer.rows.iter().map(line).collect())
}

/// A cost with two significant digits and its mark; both modes if it has two.
pub(super) fn cost(cost: &Value) -> String {
    let quantity = cost.quantity.unwrap_or(Quantity::Count);
    let text = match cost.modes.map(|modes| modes.map(|mode| short(quantity, mode))) {
        Some([low, high]) => pair(&low, "/", &high),
        None => short(quantity, cost.estimate.value),
    };
    cost.grade.mark(&text)
}

/// Name of a row, with its sides if the rows of the answer have different ones.
pub(super) fn name(answer: &Answer, row: &AnswerRow) -> String {
    match answer.sides() {
        Some(_) => row.name.clone(),
        None => format!("{}: {}", row.name, row.sides.join(" ÷ ")),
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

/// Writes the answer for a terminal of so many columns. Doubts come first, those that void the figures and a quota always,
/// others as far as there is room. `more` is the command that prints the tables of its records, if it can be typed.
pub fn text(
    answer: &Answer,
    more: Option<&str>,
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let wrap = |line: &String| lines(line, 0, width.min(WIDEST));
    let mut body: Vec<String> =
        [&answer.machine].into_iter().chain(&answer.chains).flat_map(wrap).collect();
    body.push(String::new());
    let mut table = Vec::new();
    grid(answer).write_text(width, &mut table)?;
    body.extend(String::from_utf8_lossy(&table).lines().map(str::to_owned));
    body.push(String::new());
    body.extend(missing(answer).iter().flat_map(wrap));
    let first = answer.matters.iter().take(FEWEST).flat_map(wrap).count();
    let mut last = wrap(&last(answer));

    let mut head: Vec<String> = answer.beside.iter().flat_map(|of| wrap(&of.alarm())).collect();
    let tallest = TALLEST.saturating_sub(body.len() + last.len());
    let room = tallest.saturating_sub(first);
    // A command stays in one line, to be copied.
    let mut command = more.map(|more| format!("More: {more}"));
    for (index, doubt) in answer.doubts.iter().enumerate() {
        let text = wrap(&doubt.with_names(1));
        let left = answer.doubts.len() - index;
        // An empty line follows, and one for what is left or for the command.
        let rest = 1 + usize::from(left > 1 || command.is_some());
        let is_kept = doubt.voids() || doubt.kind == Kind::Throttled;
        if !is_kept && head.len() + text.len() + rest > room {
            let more = command.take().and(more).map_or(String::new(), |more| format!(": {more}"));
            let what = if index == 0 { "doubt" } else { "more doubt" };
            head.push(counted(left, what) + &more);
            break;
        }
        head.extend(text);
    }
    head.extend((!head.is_empty()).then(String::new));
    let mut room = tallest.saturating_sub(head.len() + usize::from(command.is_some()));
    for sentence in answer.matters.iter().map(wrap) {
        if let Some(rest) = room.checked_sub(sentence.len()) {
            room = rest;
            body.extend(sentence);
        }
    }
    last.extend(command);
    [head, body, last].concat().iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Rows that the answer lacks, each with its reason.
pub(super) fn missing(answer: &Answer) -> Vec<String> {
    let missing = answer.missing.iter();
    missing.map(|(reason, rows)| format!("Not measured: {}: {reason}.", rows.join("; "))).collect()
}

/// How far to trust an answer: how noisy its session was, or how many there were.
pub(super) fn last(answer: &Answer) -> String {
    if answer.sessions == 1 {
        return answer.conditions.in_short(&answer.doubts) + NARROWER;
    }
    let (sessions, minutes) = (answer.sessions, answer.conditions.span.div_ceil(60_000));
    let span = match minutes {
        0..120 => counted(minutes, "minute"),
        _ => format!("{:.1} hours", minutes as f64 / 60.0),
    };
    let brackets =
        if sessions < MIN_ROUNDS { "the span of their 95 % intervals" } else { "95 % intervals" };
    format!("{sessions} sessions within {span}, each a sample. Brackets: {brackets}.")
}

/// Writes the answer as Markdown.
pub fn markdown(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    let beside = answer.beside.iter().map(Beside::alarm);
    for line in beside.chain(answer.doubts.iter().map(ToString::to_string)) {
        writeln!(out, "**{}**\n", escaped(&line))?;
    }
    writeln!(out, "{}\n", escaped(&answer.origin()))?;
    grid(answer).write_markdown(out)?;
    let lines = [missing(answer), answer.matters.clone(), vec![last(answer)]].concat();
    writeln!(out, "\n{}", escaped(&lines.join(" ")))
}

/// A ratio with its interval.
pub(super) fn ratio(ratio: &Value) -> String {
    let times = number(ratio.estimate.value);
    let text = match ratio.estimate.interval {
        Some(interval) => format!("{times}x {}", bracketed(&interval, number)),
        None => format!("{times}x (n = {})", ratio.estimate.n),
    };
    ratio.grade.mark(&text)
}
