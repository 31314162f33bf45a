//! Plots with points over a horizontal axis: sweeps, and points with the lines of a law.

use figures::number::{range, short};
use figures::value::Value;
use record::Quantity;

use super::axis::{Axis, extremes};
use super::drawing::{MOST_SERIES, Plot, color};
use crate::views::tables::{self, Curve};

/// Height of the area between the axes, in pixels.
const HEIGHT: u32 = 260;

/// Where the vertical axis stands.
const LEFT: f64 = 0.17;

/// A sweep: a line for each series, with intervals; `None` if nothing was measured, or more than a plot can show.
pub(crate) fn curve(curve: &Curve<'_>) -> Option<Plot> {
    let series = curve.series.iter().map(Series::of).filter(|series| !series.points.is_empty());
    let series: Vec<Series> = series.collect();
    if series.is_empty() || series.len() > MOST_SERIES {
        return None;
    }
    let x_axis = Axis::swept(series.iter().flat_map(|series| &series.points).map(|(x, _)| *x));
    let axes = [curve.over, &*curve.metric.label()];
    Some(chart(Plot::new(&curve.title, ""), axes, &series, x_axis, curve.metric.quantity()))
}

/// One series of points and lines.
#[derive(Debug)]
pub struct Series {
    pub name: String,
    /// Points: a place on the horizontal axis, and the figure there.
    pub points: Vec<(f64, Value)>,
    pub line: Vec<(f64, f64)>,
}

impl Series {
    /// A line of a sweep through its means.
    fn of(series: &tables::Series<'_>) -> Self {
        let points = series.points.iter().filter_map(|(x, figure)| {
            figure.reading()?;
            // What succeeds in few rounds is not what the others would have taken.
            let is_usual = figure.runs.failed < figure.runs.whole.len();
            Some((*x as f64, figure.value().ok().filter(|_| is_usual)?))
        });
        let points: Vec<(f64, Value)> = points.collect();
        let line = points.iter().map(|(x, figure)| (*x, figure.estimate.value)).collect();
        Series { name: series.name.clone(), points, line }
    }

    /// Its name with its least and its greatest figure.
    fn range(&self, quantity: Quantity) -> String {
        let figures = extremes(self.points.iter().map(|(_, figure)| figure.estimate.value));
        format!("{} {}", self.name, range(figures, |figure| short(quantity, figure)))
    }
}

/// A new plot with points and lines over a horizontal axis, such as measured times and a law. `axes` are the titles of
/// the horizontal and the vertical axis; `quantity` is the vertical axis's.
pub fn scatter(plot: Plot, axes: [&str; 2], series: &[Series], quantity: Quantity) -> Plot {
    let xs = series.iter().flat_map(|series| &series.points).map(|(x, _)| *x);
    chart(plot, axes, series, Axis::spanning(xs, Quantity::Count), quantity)
}

fn chart(
    mut plot: Plot,
    [over, label]: [&str; 2],
    series: &[Series],
    x_axis: Axis,
    quantity: Quantity,
) -> Plot {
    let points = series.iter().flat_map(|series| &series.points);
    let y_axis = Axis::spanning(points.flat_map(|(_, figure)| figure.ends()), quantity);
    plot.legend(series.iter().map(|series| series.name.as_str()));
    let ranges: Vec<String> = series.iter().map(|series| series.range(quantity)).collect();
    plot.description = format!("{label} by {over}: {}.", ranges.join("; "));
    plot.text(&format!("{label}{}", y_axis.remark()), (0.0, 0), plot.height + 12, "start", "muted");
    let top = plot.height + 34;
    let bottom = top + HEIGHT;
    plot.height = bottom;
    let x = |value: f64| LEFT + (0.98 - LEFT) * x_axis.place(value);
    let y = |value: f64| bottom - (y_axis.place(value) * f64::from(HEIGHT)) as u32;
    for (value, label) in &y_axis.ticks {
        plot.line((LEFT, y(*value)), (1.0, y(*value)), "grid");
        plot.text(label, (LEFT, -6), y(*value), "end", "muted");
    }
    plot.line((LEFT, top), (LEFT, bottom), "axis");
    plot.foot(&x_axis, x, bottom, over);
    for (index, series) in series.iter().enumerate() {
        for ends in series.line.windows(2) {
            let [from, to] = [ends[0], ends[1]].map(|(at, value)| (x(at), y(value)));
            plot.line(from, to, &format!("line {}", color(index)));
        }
        for (at, figure) in &series.points {
            if let Some(interval) = figure.estimate.interval {
                plot.upright(x(*at), [interval.high, interval.low].map(y), index);
            }
            plot.mark((x(*at), y(figure.estimate.value)), index, figure.grade);
        }
    }
    plot
}
