//! Marks of one machine beside those of others: a strip for a ratio, one for both costs, on axes that all machines
//! share.

use facts::Quantity;
use stats::Interval;

use super::Plot;
use super::axis::Axis;
use crate::views::answer::AnswerRow;

/// Height of a strip in pixels.
const HEIGHT: u32 = 18;

/// What each series of marks is, in the order of their colours and shapes.
pub(in crate::render) const SERIES: [&str; 3] = ["async task", "OS thread", "thread ÷ task"];

/// Axes of one question.
pub(in crate::render) struct Strips {
    ratios: Axis,
    costs: Axis,
    quantity: Quantity,
}

impl Strips {
    /// Axes on which all rows fit.
    pub(in crate::render) fn of(rows: &[&AnswerRow]) -> Self {
        let quantity = rows.first().map_or(Quantity::Time, |row| row.metric.quantity());
        let bounds = |interval: Option<Interval>| {
            interval.into_iter().flat_map(|interval| [interval.low, interval.high])
        };
        let ratios =
            rows.iter().flat_map(|row| bounds(row.ratio.interval).chain([row.ratio.value]));
        let costs = rows.iter().flat_map(|row| [row.thread, row.task]);
        let costs = costs.flat_map(|cost| cost.ends().into_iter().chain(bounds(cost.interval)));
        Strips { ratios: Axis::ratios(ratios), costs: Axis::costs(costs, quantity), quantity }
    }

    /// The ratio with its interval.
    pub(in crate::render) fn ratio(&self, title: &str, row: &AnswerRow) -> Plot {
        let mut plot = strip(title, &self.ratios);
        plot.mark((place(&self.ratios, row.ratio.value), HEIGHT / 2), 2, row.ratio.grade);
        bar(&mut plot, &self.ratios, row.ratio.interval);
        plot
    }

    /// What a thread and a task cost, with their intervals.
    pub(in crate::render) fn costs(&self, title: &str, row: &AnswerRow) -> Plot {
        let mut plot = strip(title, &self.costs);
        for (series, cost) in [row.task, row.thread].into_iter().enumerate() {
            for point in cost.modes.map_or(vec![cost.value], Vec::from) {
                plot.mark((place(&self.costs, point), HEIGHT / 2), series, cost.grade);
            }
            bar(&mut plot, &self.costs, cost.interval.filter(|_| cost.modes.is_none()));
        }
        plot
    }

    /// Labels of the ends of both axes.
    pub(in crate::render) fn ends(&self) -> [[String; 2]; 2] {
        [
            self.ratios.end_labels(Quantity::Count).map(|label| label + "x"),
            self.costs.end_labels(self.quantity),
        ]
    }
}

/// An empty strip with the lines of its axis.
fn strip(title: &str, axis: &Axis) -> Plot {
    let mut plot = Plot::new(title, "");
    plot.height = HEIGHT;
    for x in axis.ticks.iter().map(|(value, _)| *value).chain(axis.ends()) {
        plot.line((place(axis, x), 0), (place(axis, x), HEIGHT), "grid");
    }
    plot.line(
        (place(axis, axis.ends()[0]), HEIGHT / 2),
        (place(axis, axis.ends()[1]), HEIGHT / 2),
        "grid",
    );
    plot
}

fn bar(plot: &mut Plot, axis: &Axis, interval: Option<Interval>) {
    if let Some(Interval { low, high, .. }) = interval {
        plot.bar(place(axis, low), place(axis, high), (HEIGHT / 2 - 1, 3));
    }
}

/// Room for a mark is left at both ends.
fn place(axis: &Axis, value: f64) -> f64 {
    0.04 + 0.92 * axis.place(value)
}
