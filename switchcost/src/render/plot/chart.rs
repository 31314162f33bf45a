//! Plots with points over a horizontal axis: sweeps.

use facts::Quantity;
use stats::Interval;

use super::axis::Axis;
use super::drawing::{Plot, color};
use crate::figures::grade::Grade;
use crate::views::tables::Curve;

const CAPTION: &str = "Bars: 95 % intervals of the mean. Open marks: not sure.";

/// Height of the area between the axes, in pixels.
const HEIGHT: u32 = 260;

/// A chart: its frame with both axes.
struct Frame {
    plot: Plot,
    x_axis: Axis,
    y_axis: Axis,
    bottom: u32,
}

impl Frame {
    /// A frame below the legend of a plot; `over` is the title of the horizontal axis, `label` of the vertical one.
    fn new(mut plot: Plot, [x_axis, y_axis]: [Axis; 2], over: &str, label: &str) -> Self {
        let title = format!("{label}{}", y_axis.remark());
        plot.text(&title, (0.0, 0), plot.height + 8, "start", "muted");
        let bottom = plot.height + 24 + HEIGHT;
        plot.height = bottom;
        let mut frame = Frame { plot, x_axis, y_axis, bottom };
        for (value, label) in frame.y_axis.ticks.clone() {
            let y = frame.y(value);
            frame.plot.line((0.14, y), (1.0, y), "grid");
            frame.plot.text(&label, (0.13, 0), y, "end", "muted");
        }
        let x_axis = frame.x_axis.clone();
        frame.plot.foot(&x_axis, |value| x(&x_axis, value), bottom, over);
        frame
    }

    fn y(&self, value: f64) -> u32 {
        self.bottom - (self.y_axis.place(value) * f64::from(HEIGHT)) as u32
    }

    fn place(&self, (x_value, y_value): (f64, f64)) -> (f64, u32) {
        (x(&self.x_axis, x_value), self.y(y_value))
    }

    /// A line of a series through points.
    fn line(&mut self, series: usize, points: impl IntoIterator<Item = (f64, f64)>) {
        let class = format!("line {}", color(series));
        let places: Vec<_> = points.into_iter().map(|point| self.place(point)).collect();
        for ends in places.windows(2) {
            self.plot.line(ends[0], ends[1], &class);
        }
    }
}

/// Horizontal place of a value.
fn x(axis: &Axis, value: f64) -> f64 {
    0.15 + 0.83 * axis.place(value)
}

/// A sweep: a line for each series, with intervals; `None` if nothing was measured.
pub(crate) fn curve(curve: &Curve<'_>) -> Option<Plot> {
    let points = |index: usize| {
        let points = curve.series[index].points.iter();
        points.filter_map(|(x, figure)| Some((*x as f64, figure.reading()?, figure.grade)))
    };
    let all = || (0..curve.series.len()).flat_map(points);
    all().next()?;
    let extent = all().flat_map(|(_, reading, _)| {
        let interval = reading.mean.interval.map(|i| [i.low, i.high]).into_iter().flatten();
        interval.chain([reading.mean.value])
    });
    let axes =
        [Axis::swept(all().map(|(x, ..)| x)), Axis::spanning(extent, curve.metric.quantity())];
    let mut plot = Plot::new(curve.title, CAPTION);
    plot.legend(curve.series.iter().map(|series| series.name.as_str()));
    let mut frame = Frame::new(plot, axes, &curve.over, &curve.metric.label());
    for index in 0..curve.series.len() {
        frame.line(index, points(index).map(|(at, reading, _)| (at, reading.mean.value)));
        for (at, reading, grade) in points(index) {
            if let Some(Interval { low, high, .. }) = reading.mean.interval {
                frame.line(index, [(at, low), (at, high)]);
            }
            let place = frame.place((at, reading.mean.value));
            frame.plot.mark(place, index, grade);
        }
    }
    Some(frame.plot)
}

/// Points and lines over a horizontal axis, such as measured ones and what a law says of them.
#[derive(Debug)]
pub struct Scatter {
    /// Title of the plot.
    pub title: String,
    /// Line below it.
    pub note: String,
    /// Titles of the horizontal and of the vertical axis.
    pub axes: [String; 2],
    /// How to read it.
    pub caption: String,
    /// Series of points, each with a line.
    pub series: Vec<Series>,
}

/// One series of a [`Scatter`].
#[derive(Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points, each with what it is worth.
    pub points: Vec<(f64, f64, Grade)>,
    /// Points of a line.
    pub line: Vec<(f64, f64)>,
}

impl Scatter {
    /// The plot as a file; `quantity` is that of the vertical axis.
    pub fn file(&self, quantity: Quantity) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let axes = [
            Axis::spanning(points().map(|(x, ..)| *x), Quantity::Count),
            Axis::spanning(points().map(|(_, y, _)| *y), quantity),
        ];
        let [over, label] = &self.axes;
        let mut plot = Plot::new(&self.title, &self.caption);
        plot.note.clone_from(&self.note);
        plot.legend(self.series.iter().map(|series| series.name.as_str()));
        let mut frame = Frame::new(plot, axes, over, label);
        for (index, series) in self.series.iter().enumerate() {
            frame.line(index, series.line.iter().copied());
            for (x, y, grade) in &series.points {
                let place = frame.place((*x, *y));
                frame.plot.mark(place, index, *grade);
            }
        }
        frame.plot.file()
    }
}
