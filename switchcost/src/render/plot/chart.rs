//! Plots with points over a horizontal axis: sweeps.

use super::axis::Axis;
use super::drawing::{Plot, color};
use crate::views::tables::Curve;

const CAPTION: &str = "Bars: 95 % intervals of the mean. Open marks: not sure.";

/// Height of the area between the axes, in pixels.
const HEIGHT: u32 = 260;

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
    let (x_axis, y_axis) =
        (Axis::swept(all().map(|(x, ..)| x)), Axis::spanning(extent, curve.metric.quantity()));
    let mut plot = Plot::new(curve.title, CAPTION);
    plot.legend(curve.series.iter().map(|series| series.name.as_str()));
    let title = format!("{}{}", curve.metric.label(), y_axis.remark());
    plot.text(&title, (0.0, 0), plot.height + 8, "start", "muted");
    let top = plot.height + 24;
    let bottom = top + HEIGHT;
    plot.height = bottom;
    let x = |value: f64| 0.15 + 0.83 * x_axis.place(value);
    let y = |value: f64| bottom - (y_axis.place(value) * f64::from(HEIGHT)) as u32;
    for (value, label) in &y_axis.ticks {
        plot.line((0.14, y(*value)), (1.0, y(*value)), "grid");
        plot.text(label, (0.13, 0), y(*value), "end", "muted");
    }
    plot.foot(&x_axis, x, bottom, &curve.over);
    for index in 0..curve.series.len() {
        let class = format!("line {}", color(index));
        let line: Vec<_> = points(index).map(|(at, r, _)| (x(at), y(r.mean.value))).collect();
        for ends in line.windows(2) {
            plot.line(ends[0], ends[1], &class);
        }
        for ((at, reading, grade), place) in points(index).zip(line) {
            if let Some(interval) = &reading.mean.interval {
                plot.line((x(at), y(interval.low)), (x(at), y(interval.high)), &class);
            }
            plot.mark(place, index, grade);
        }
    }
    Some(plot)
}
