//! The answer as a document of at most 22 lines on a terminal.

use figures::doubt::DoubtKind;
use host::units::counted;
use stats::MIN_ROUNDS;

use super::cells::{cost, ratio};
use super::document::{Document, Frame, Rank, Section, TextLine, sentences};
use super::grid::Grid;
use super::plot;
use crate::views::answer::Answer;

/// Most columns of the answer's sentences.
const WIDEST: usize = 80;

/// Sentences on when the figures matter that leave doubts no room.
const FEWEST: usize = 2;

/// Most lines of the answer, unless its figures are void.
const TALLEST: usize = 22;

/// What to do about wide intervals.
const NARROWER: &str = " Narrower intervals: --sessions=5.";

/// The answer's rows.
fn grid(answer: &Answer) -> Grid {
    let lines = answer.rows.iter().map(|row| {
        vec![answer.name_of(row), cost(&row.thread), cost(&row.task), ratio(&row.ratio)]
    });
    let [numerator, denominator] = answer.sides();
    Grid::new(["", numerator, denominator, &answer.quotient()], lines.collect())
}

/// The answer as a document of at most 22 lines on a terminal. Doubts come first, those that void the figures
/// and a quota always, others as far as there is room.
pub fn document(answer: &Answer, more: Option<&str>) -> Document {
    let doubts = answer.doubts.iter().map(|doubt| {
        match doubt.voids() || doubt.kind == DoubtKind::Throttled {
            true => TextLine::from(doubt.with_names(1)),
            false => TextLine::ranked(doubt.with_names(1), Rank::Doubt),
        }
    });
    let alarm = answer.beside.iter().map(|beside| TextLine::from(beside.alarm()));
    let mut head = sentences([&answer.machine].into_iter().chain(&answer.chains).cloned());
    head.extend(answer.schedulers.iter().map(|text| TextLine::ranked(text.clone(), Rank::Page)));
    let mut foot = sentences(missing(answer));
    foot.extend(answer.matters.iter().enumerate().map(|(index, text)| {
        TextLine::ranked(text.clone(), if index < FEWEST { Rank::First } else { Rank::Last })
    }));
    foot.push(last(answer).into());
    let plot = Some(plot::answer(answer));
    let section = Section { grid: grid(answer), plot, ..Section::default() };
    Document {
        doubts: alarm.chain(doubts).collect(),
        head,
        sections: vec![section],
        foot,
        more: more.map(str::to_owned),
        frame: Frame { columns: WIDEST, lines: TALLEST, indent: 0 },
        ..Document::default()
    }
}

/// Rows that the answer lacks, each with its reason.
fn missing(answer: &Answer) -> Vec<String> {
    let missing = answer.missing.iter();
    missing.map(|(reason, rows)| format!("Not measured: {}: {reason}.", rows.join("; "))).collect()
}

/// How far to trust an answer: how noisy its session was, or how many there were.
fn last(answer: &Answer) -> String {
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
