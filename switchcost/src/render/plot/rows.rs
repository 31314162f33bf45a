//! Plots with a row for each case: its name, its figure and its marks on one common axis.

use facts::Quantity;
use maud::html;

use super::axis::Axis;
use super::chart::reach;
use super::drawing::{MOST_SERIES, Plot};
use crate::figures::grade::{Grade, Graded};
use crate::figures::number::{number, short, thousands};
use crate::figures::{Figure, Reading};
use crate::render::answer::{name, quotient, sides};
use crate::system::console::brief;
use crate::views::answer::{Answer, AnswerRow, THREAD_AND_TASK};
use crate::views::fleet::Machine;
use crate::views::tables::Table;

const STRIP: &str = "Sorted by the mean, with multiples of the least. A point is the mean of one process, the first \
                     process on top. A stroke is the mean, or the centre of a group of processes.";

/// Height of a row in pixels, of which its name and its figure take the upper half.
const ROW: u32 = 50;
/// Middle of the lower half.
const TRACK: u32 = 34;
/// Height that the points of a row's processes spread over.
const SPREAD: u32 = 14;

/// Height at which a row of [`Dots`] has its first mark, and the step to the next one: marks of equal figures stay apart.
const DOT_TRACK: u32 = 27;
const DOT_STEP: u32 = 8;

impl Plot {
    fn row(&mut self, name: &str, figure: &str) -> u32 {
        let y = self.height;
        self.body += &html! {
            text x="0" y=(y + 10) dy=".35em" {
                tspan class="bold" { (brief(name)) } tspan dx="10" { (brief(figure)) }
            }
        }
        .0;
        self.description += &format!("{} {}. ", brief(name), brief(figure));
        self.height += ROW;
        y + TRACK
    }
}

/// The answer: for each row a thread's figure as a multiple of a task's.
pub(crate) fn answer(answer: &Answer) -> Plot {
    let sides = sides(answer);
    let title = match sides {
        THREAD_AND_TASK => "Cost of an OS thread, as a multiple of an async task's".to_owned(),
        [one, other] => format!("{one}, as a multiple of {other}"),
    };
    let rows: Vec<_> = answer.rows.iter().map(|row| (name(answer, row), row)).collect();
    ratios(&title, sides, &rows, &quotient(answer))
}

/// Ratios of the machines that answer a question.
pub(crate) fn of_machines(
    question: &str,
    machines: &[Machine],
    rows: &[Option<AnswerRow>],
) -> Option<Plot> {
    let named = machines.iter().zip(rows);
    let rows: Vec<_> =
        named.filter_map(|(machine, row)| Some((machine.name.clone(), row.as_ref()?))).collect();
    Some(ratios(question, rows.first()?.1.sides(), &rows, "thread ÷ task"))
}

/// Ratios of two sides, a row each, with what both cost.
fn ratios(
    title: &str,
    [one, other]: [&str; 2],
    rows: &[(String, &AnswerRow)],
    label: &str,
) -> Plot {
    let mut plot = Plot::new(title, "");
    plot.legend([format!("{other} = 1x").as_str(), one].into_iter());
    let axis = Axis::ratios(rows.iter().flat_map(|(_, row)| bounds(row)));
    // The figures stand beside the marks; two of them need more room.
    let has_modes = rows.iter().any(|(_, row)| row.task.modes.or(row.thread.modes).is_some());
    let [left, right] = if has_modes { [0.31, 0.72] } else { [0.17, 0.84] };
    let place = |value: f64| left + (right - left) * axis.place(value);
    let top = plot.height;
    for (name, row) in rows {
        let (task, thread) = (place(1.0), place(row.ratio.value));
        let [low, high] = bounds(row).map(place);
        let y = plot.row(name, &multiple(row.ratio.grade, row.ratio.value));
        plot.line((task, y), (thread, y), "line s2");
        plot.mark((task, y), 0, row.task.grade);
        plot.mark((thread, y), 1, row.ratio.grade);
        if row.bounds().is_some() {
            plot.interval([low, high], y, 8);
        }
        // Outside of all that is drawn, the smaller figure at the left.
        let (left, right) =
            if task <= thread { (row.task, row.thread) } else { (row.thread, row.task) };
        let [left, right] = [left, right].map(|cost| cost.show(row.metric.quantity()));
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

/// Interval of a row's ratio, or the ratio alone.
fn bounds(row: &AnswerRow) -> [f64; 2] {
    row.bounds().unwrap_or([row.ratio.value; 2])
}

/// Figures of a table on one common axis: a row for each of its lines, a series for each of its columns.
#[derive(Debug)]
pub struct Dots {
    /// Title of the plot.
    pub title: String,
    /// Line below it.
    pub note: String,
    /// Title of the axis.
    pub axis: String,
    /// Names in the legend.
    pub columns: Vec<String>,
    /// Names of the rows, each with a figure for each column.
    pub rows: Vec<(String, Vec<Graded>)>,
}

impl Dots {
    /// The plot as a file.
    pub fn file(&self, quantity: Quantity) -> String {
        let mut plot = Plot::new(&self.title, "");
        plot.note.clone_from(&self.note);
        plot.legend(self.columns.iter().map(String::as_str));
        let figures = self.rows.iter().flat_map(|(_, figures)| figures);
        let axis = Axis::spanning(figures.flat_map(reach), quantity);
        let place = |value: f64| 0.015 + 0.97 * axis.place(value);
        let top = plot.height;
        for (name, figures) in &self.rows {
            plot.text(name, (0.0, 0), plot.height + 10, "start", "bold");
            let mut costs = Vec::new();
            for (index, (figure, column)) in figures.iter().zip(&self.columns).enumerate() {
                let y = plot.height + DOT_TRACK + index as u32 * DOT_STEP;
                plot.mark((place(figure.value), y), index, figure.grade);
                if let Some(interval) = figure.interval {
                    plot.interval([interval.low, interval.high].map(place), y, 5);
                }
                costs.push(format!("{column} {}", short(quantity, figure.value)));
            }
            plot.description += &format!("{name}: {}. ", costs.join("; "));
            plot.height += DOT_TRACK + figures.len() as u32 * DOT_STEP + 4;
        }
        plot.foot(&axis, place, top, &self.axis);
        plot.file()
    }
}

/// A table of times, rates or counts: every process, sorted by the mean; `None` for other tables.
pub(crate) fn strip(table: &Table<'_>) -> Option<Plot> {
    let is_measured = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.cells[column]);
        cells.filter_map(Figure::reading).next().is_some()
    };
    let columns = table.columns.iter().enumerate();
    let columns = columns.filter(|(column, (_, is_further))| !is_further && is_measured(*column));
    let columns: Vec<(usize, &str)> = columns.map(|(index, (name, _))| (index, *name)).collect();
    let mut cases: Vec<(String, usize, Grade, &Reading)> = Vec::new();
    for row in &table.rows {
        for (series, (column, _)) in columns.iter().enumerate() {
            if let Some(figure) = row.cells[*column]
                && let Some(reading) = figure.reading()
            {
                cases.push((figure.key.name(), series, figure.grade, reading));
            }
        }
    }
    if columns.len() > MOST_SERIES {
        return None;
    }
    cases.sort_by(|a, b| b.3.mean.value.total_cmp(&a.3.mean.value));
    let (_, _, least_grade, least) = *cases.last()?;
    let least = least.mean.value;
    let mut plot = Plot::new(table.title, STRIP);
    if columns.len() > 1 {
        plot.legend(columns.iter().map(|(_, name)| *name));
    }
    let quantity = table.metric.quantity();
    let extent = cases.iter().flat_map(|(.., reading)| {
        let interval = reading.mean.interval.filter(|_| reading.modes.is_none());
        let bounds = interval.map(|i| [i.low, i.high]).into_iter().flatten();
        reading.means.iter().copied().chain(bounds)
    });
    let axis = Axis::spanning(extent, quantity);
    let place = |value: f64| 0.015 + 0.97 * axis.place(value);
    let top = plot.height;
    for (name, column, grade, reading) in &cases {
        let mean = reading.mean.value;
        let figure = if least > 0.0 && cases.len() > 1 {
            multiple((*grade).max(least_grade), mean / least)
        } else {
            grade.mark(&quantity.show(mean))
        };
        let y = plot.row(name, &figure);
        // In their order in time, the first one on top: drift is a slope.
        let step = f64::from(SPREAD) / reading.means.len().saturating_sub(1).max(1) as f64;
        for (index, mean) in reading.means.iter().enumerate() {
            plot.mark(
                (place(*mean), y - SPREAD / 2 + (index as f64 * step) as u32),
                *column,
                *grade,
            );
        }
        let centres =
            reading.modes.map_or(vec![mean], |modes| modes.map(|mode| mode.centre).to_vec());
        if let Some(interval) = reading.mean.interval.filter(|_| reading.modes.is_none()) {
            plot.interval([interval.low, interval.high].map(place), y, 6);
        }
        for centre in centres {
            plot.line((place(centre), y - 11), (place(centre), y + 11), "bar");
        }
    }
    plot.foot(&axis, place, top, &table.label());
    Some(plot)
}
