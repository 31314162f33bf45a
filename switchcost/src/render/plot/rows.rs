//! Plots with a row for each case: its name, its figure and its marks on one common axis.

use figures::grade::Grade;
use figures::number::{number, short, thousands};
use figures::value::Value;
use figures::{Figure, Reading};
use maud::html;
use record::{Metric, Quantity};

use super::axis::Axis;
use super::drawing::{MOST_SERIES, Plot};
use crate::render::answer::{cost, heads};
use crate::views::answer::{Answer, AnswerRow};
use crate::views::fleet::Machine;
use crate::views::tables::Table;

const STRIP: &str = "Sorted by the mean, with multiples of the least. A point is the mean of one process, the first \
                     process on top. A stroke is the mean, or the centre of a group of processes.";

/// Height of a row in pixels. Its name and its figure take the upper half.
const ROW: u32 = 50;
/// Middle of the lower half.
const TRACK: u32 = 34;
/// Height that the points of a row's processes spread over.
const SPREAD: u32 = 14;

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
    let [one, other, label] = heads(answer);
    let title = if answer.is_of_threads() {
        "Cost of an OS thread, as a multiple of an async task's"
    } else {
        "The first cost, as a multiple of the second"
    };
    let rows: Vec<_> = answer.rows.iter().map(|row| (row.title(), row)).collect();
    ratios(title, [one, other], &rows, label)
}

/// Ratios of the machines that answer a question.
pub(crate) fn of_machines(machines: &[Machine<'_>], question: (&str, &Metric)) -> Option<Plot> {
    let rows = machines.iter();
    let rows: Vec<_> =
        rows.filter_map(|machine| Some((machine.name.clone(), machine.row(question)?))).collect();
    let sides = rows.first()?.1.sides.each_ref().map(String::as_str);
    Some(ratios(question.0, sides, &rows, "thread ÷ task"))
}

/// Ratios of two sides, a row each, with what both cost.
fn ratios(
    title: &str,
    [one, other]: [&str; 2],
    rows: &[(String, &AnswerRow)],
    label: &str,
) -> Plot {
    let mut plot = Plot::new(title, "");
    // Threads come first, as in other plots: the same mark and colour.
    plot.legend([one, format!("{other} = 1x").as_str()].into_iter());
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

/// A new plot with the figures of a table on one axis: a row for each of its lines, a series for each of its columns.
/// `title` is the axis's.
pub fn dots(
    mut plot: Plot,
    title: &str,
    columns: &[String],
    rows: &[(String, Vec<Value>)],
    quantity: Quantity,
) -> Plot {
    plot.legend(columns.iter().map(String::as_str));
    let figures = rows.iter().flat_map(|(_, figures)| figures);
    let axis = Axis::spanning(figures.flat_map(Value::ends), quantity);
    let place = |value: f64| 0.015 + 0.97 * axis.place(value);
    let top = plot.height;
    for (name, figures) in rows {
        plot.text(name, (0.0, 0), plot.height + 10, "start", "bold");
        let mut costs = Vec::new();
        for (index, (figure, column)) in figures.iter().zip(columns).enumerate() {
            let y = plot.height + DOT_TRACK + index as u32 * DOT_STEP;
            plot.mark((place(figure.estimate.value), y), index, figure.grade);
            if let Some(interval) = figure.estimate.interval {
                plot.interval([interval.low, interval.high].map(place), y, 5);
            }
            costs.push(format!("{column} {}", short(quantity, figure.estimate.value)));
        }
        plot.description += &format!("{name}: {}. ", costs.join("; "));
        plot.height += DOT_TRACK + figures.len() as u32 * DOT_STEP + 4;
    }
    plot.foot(&axis, place, top, title);
    plot
}

/// Ends of the interval of a figure; `None` if no mean describes its trials.
fn interval(reading: &Reading) -> Option<[f64; 2]> {
    let interval = reading.mean.interval.filter(|_| reading.modes.is_none());
    interval.map(|interval| [interval.low, interval.high])
}

/// Draws the trials of a figure around a height, its interval and its mean.
fn draw(figure: &Figure<'_>, series: usize, plot: &mut Plot, place: impl Fn(f64) -> f64, y: u32) {
    let Some(reading) = figure.reading() else { return };
    let Reading { means, modes, mean, .. } = reading;
    // In their order in time, the first one on top: drift is a slope.
    let step = f64::from(SPREAD) / means.len().saturating_sub(1).max(1) as f64;
    for (index, mean) in means.iter().enumerate() {
        let y = y - SPREAD / 2 + (index as f64 * step) as u32;
        plot.mark((place(*mean), y), series, figure.grade);
    }
    if let Some(ends) = interval(reading) {
        plot.interval(ends.map(&place), y, 6);
    }
    let centres = modes.map_or(vec![mean.value], |modes| modes.map(|mode| mode.centre).to_vec());
    for centre in centres {
        plot.line((place(centre), y - 11), (place(centre), y + 11), "bar");
    }
}

/// Columns of a table that have figures, and all figures with the number of their column, the greatest mean first.
fn strips<'a>(table: &Table<'a>) -> (Vec<&'a str>, Vec<(usize, &'a Figure<'a>)>) {
    let (mut columns, mut strips) = (Vec::new(), Vec::new());
    for (column, (name, metric)) in table.columns.iter().enumerate() {
        let figures = table.rows.iter().filter_map(|(_, cells)| cells[column]);
        let measured = figures.filter(|figure| figure.reading().is_some());
        let before = strips.len();
        let series = columns.len();
        strips.extend(measured.filter(|_| *metric == table.metric).map(|figure| (series, figure)));
        if strips.len() > before {
            columns.push(*name);
        }
    }
    strips.sort_by(|(_, a), (_, b)| mean(b).total_cmp(&mean(a)));
    (columns, strips)
}

/// Mean of a figure that was measured.
fn mean(figure: &Figure<'_>) -> f64 {
    figure.reading().map_or(f64::NAN, |reading| reading.mean.value)
}

/// A table of times, rates or counts: every process, sorted by the mean; `None` for other tables, and for those with
/// more columns than a plot can show.
pub(crate) fn strip(table: &Table<'_>) -> Option<Plot> {
    let (columns, strips) = strips(table);
    let (_, least) = strips.last().filter(|_| columns.len() <= MOST_SERIES)?;
    let mut plot = Plot::new(table.title, STRIP);
    if columns.len() > 1 {
        plot.legend(columns.into_iter());
    }
    let quantity = table.metric.quantity();
    let readings = strips.iter().filter_map(|(_, figure)| figure.reading());
    let extent = readings.flat_map(|reading| {
        reading.means.iter().copied().chain(interval(reading).into_iter().flatten())
    });
    let axis = Axis::spanning(extent, quantity);
    let place = |value: f64| 0.015 + 0.97 * axis.place(value);
    let top = plot.height;
    let least_mean = mean(least);
    for (series, figure) in &strips {
        let text = if least_mean > 0.0 && strips.len() > 1 {
            multiple(figure.grade.max(least.grade), mean(figure) / least_mean)
        } else {
            figure.grade.mark(&quantity.show(mean(figure)))
        };
        let y = plot.row(&figure.place().name(), &text);
        draw(figure, *series, &mut plot, place, y);
    }
    plot.foot(&axis, place, top, &table.label());
    Some(plot)
}
