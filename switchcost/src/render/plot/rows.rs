//! Plots with a row for each case: its name and its figures on one common axis.

use figures::grade::Grade;
use figures::number::{number, thousands};
use figures::value::Value;
use maud::html;
use record::{Metric, Quantity};

use super::axis::Axis;
use super::drawing::{MOST_SERIES, Plot};
use crate::render::cells::cost;
use crate::views::answer::{Answer, AnswerRow, THREAD_AND_TASK};
use crate::views::fleet::MachineResults;
use crate::views::tables::Table;

/// Height of a row in pixels. Its name and its figure take the upper half.
const ROW: u32 = 50;
/// Middle of the lower half.
const TRACK: u32 = 34;

/// Height at which a row of [`dots`] has its first mark, and the step to the next one: marks of equal figures stay
/// apart.
const DOT_TRACK: u32 = 27;
const DOT_STEP: u32 = 8;

impl Plot {
    fn row(&mut self, name: &str, figure: &str) -> u32 {
        let y = self.height;
        self.body += &html! {
            text x="0" y=(y + 10) dy=".35em" {
                tspan class="bold" { (name) } tspan dx="10" { (figure) }
            }
        }
        .0;
        self.description += &format!("{name} {figure}. ");
        self.height += ROW;
        y + TRACK
    }
}

/// The answer: for each row a thread's figure as a multiple of a task's.
pub(crate) fn answer(answer: &Answer) -> Plot {
    let sides = answer.sides();
    let title = match sides {
        THREAD_AND_TASK => "Cost of an OS thread, as a multiple of an async task's".to_owned(),
        [numerator, denominator] => format!("{numerator}, as a multiple of {denominator}"),
    };
    let rows: Vec<_> = answer.rows.iter().map(|row| (answer.name_of(row), row)).collect();
    ratios(&title, sides, &rows, &answer.quotient())
}

/// Ratios of the machines that answer a question.
pub(crate) fn of_machines(
    machines: &[MachineResults<'_>],
    question: (&str, &Metric),
) -> Option<Plot> {
    let rows = machines.iter();
    let rows: Vec<_> =
        rows.filter_map(|machine| Some((machine.name.clone(), machine.row(question)?))).collect();
    let sides = rows.first()?.1.sides.each_ref().map(String::as_str);
    Some(ratios(question.0, sides, &rows, "thread ÷ task"))
}

/// Ratios of two sides, a row each, with what both cost.
fn ratios(
    title: &str,
    [numerator, denominator]: [&str; 2],
    rows: &[(String, &AnswerRow)],
    label: &str,
) -> Plot {
    let mut plot = Plot::new(title, "");
    // Threads come first, as in other plots: the same mark and colour.
    plot.legend([numerator, format!("{denominator} = 1x").as_str()].into_iter());
    let axis = Axis::ratios(rows.iter().flat_map(|(_, row)| row.ratio.ends()));
    // The figures stand beside the marks; two of them need more room.
    let has_modes = rows.iter().any(|(_, row)| row.task.modes.or(row.thread.modes).is_some());
    let [left, right] = if has_modes { [0.31, 0.72] } else { [0.17, 0.84] };
    let place = |value: f64| left + (right - left) * axis.place(value);
    let top = plot.height;
    for (name, row) in rows {
        let (task, thread) = (place(1.0), place(row.ratio.estimate.value));
        let [_, low, high] = row.ratio.ends().map(place);
        let y = plot.row(name, &multiple(row.ratio.grade, row.ratio.estimate.value));
        plot.line((task, y), (thread, y), "line s1");
        plot.mark((task, y), 1, row.task.grade);
        plot.mark((thread, y), 0, row.ratio.grade);
        if row.ratio.estimate.interval.is_some() {
            plot.interval([low, high], y, 8);
        }
        // Outside of all that is drawn, the smaller figure at the left.
        let (left, right) =
            if task <= thread { (&row.task, &row.thread) } else { (&row.thread, &row.task) };
        let [left, right] = [left, right].map(cost);
        plot.text(&left, (task.min(low), -10), y, "end", "");
        plot.text(&right, (task.max(high), 10), y, "start", "");
    }
    plot.foot(&axis, place, top, label);
    plot
}

/// A ratio with its mark.
fn multiple(grade: Grade, ratio: f64) -> String {
    grade.mark(&format!("{}x", thousands(&number(ratio))))
}

/// What a figure with two modes looks like.
const MODES: &str = "Two marks of one kind: the centres of two groups of processes.";

/// A new plot with the figures of a table on one axis: a row for each of its lines, a series for each of its columns.
/// `title` is the axis's.
pub fn dots(
    mut plot: Plot,
    title: &str,
    columns: &[String],
    rows: &[(String, Vec<Option<Value>>)],
    quantity: Quantity,
) -> Plot {
    if columns.len() > 1 {
        plot.legend(columns.iter().map(String::as_str));
    }
    let figures = rows.iter().flat_map(|(_, figures)| figures.iter().flatten());
    let axis = Axis::spanning(figures.flat_map(drawn), quantity);
    let place = |value: f64| 0.015 + 0.97 * axis.place(value);
    let top = plot.height;
    for (name, figures) in rows {
        plot.text(name, (0.0, 0), plot.height + 10, "start", "bold");
        let mut costs = Vec::new();
        for (index, (figure, column)) in figures.iter().zip(columns).enumerate() {
            let Some(figure) = figure else { continue };
            let y = plot.height + DOT_TRACK + index as u32 * DOT_STEP;
            if figure.modes.is_some() {
                plot.explain(MODES);
            }
            let centres = figure.modes.map_or(vec![figure.estimate.value], Vec::from);
            centres.into_iter().for_each(|at| plot.mark((place(at), y), index, figure.grade));
            if let Some(interval) = figure.estimate.interval.filter(|_| figure.modes.is_none()) {
                plot.interval([interval.low, interval.high].map(place), y, 5);
            }
            costs.push(format!("{column} {}", cost(figure)).trim_start().to_owned());
        }
        plot.description += &format!("{name}: {}. ", costs.join("; "));
        plot.height += DOT_TRACK + figures.len() as u32 * DOT_STEP + 4;
    }
    plot.foot(&axis, place, top, title);
    plot
}

/// Values that a figure has on an axis: its two modes, or its estimate and the ends of its interval.
fn drawn(figure: &Value) -> Vec<f64> {
    figure.modes.map_or(figure.ends().to_vec(), Vec::from)
}

/// A table of times, rates or counts: its columns of the section's own metric; `None` for other tables, and for those
/// with more columns than a plot can show.
pub(crate) fn table(table: &Table<'_>) -> Option<Plot> {
    let columns = table.columns.iter().filter(|(_, metric)| *metric == table.metric);
    let columns: Vec<String> = columns.map(|(name, _)| (*name).to_owned()).collect();
    let rows = table.rows.iter().map(|(name, cells)| {
        let cells = cells.iter().zip(&table.columns);
        let cells = cells.filter(|(_, (_, metric))| *metric == table.metric);
        let figures = cells.map(|(cell, _)| {
            let figure = cell.filter(|figure| figure.reading().is_some());
            figure.and_then(|figure| figure.value().ok())
        });
        ((*name).to_owned(), figures.collect::<Vec<Option<Value>>>())
    });
    let rows: Vec<_> = rows.filter(|(_, figures)| figures.iter().any(Option::is_some)).collect();
    if rows.is_empty() || columns.len() > MOST_SERIES {
        return None;
    }
    let (plot, title) = (Plot::new(table.title, ""), table.metric.label());
    Some(dots(plot, &title, &columns, &rows, table.metric.quantity()))
}
