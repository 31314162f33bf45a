//! Plots with points over a horizontal axis: sweeps.

use super::Plot;
use super::axis::Axis;
use crate::views::tables::Curve;

/// Height of the area between the axes, in pixels.
const HEIGHT: u32 = 260;

/// Both axes of a drawing and its upper end.
struct Area {
    x: Axis,
    y: Axis,
    top: u32,
}

impl Area {
    /// Draws the axes.
    fn of(plot: &mut Plot, (x, y): (Axis, Axis), (over, what): (&str, &str)) -> Self {
        plot.text(&format!("{what}{}", y.remark()), (0.0, 0), plot.height + 8, "start", "muted");
        let area = Area { x, y, top: plot.height + 24 };
        plot.height = area.top + HEIGHT;
        for (value, label) in &area.y.ticks {
            let y = area.y(*value);
            plot.line((0.14, y), (1.0, y), "grid");
            plot.text(label, (0.13, 0), y, "end", "muted");
        }
        plot.foot(&area.x, |x| area.x(x), area.top + HEIGHT, over);
        area
    }

    fn x(&self, value: f64) -> f64 {
        0.15 + 0.83 * self.x.place(value)
    }

    fn y(&self, value: f64) -> u32 {
        self.top + HEIGHT - (self.y.place(value) * f64::from(HEIGHT)) as u32
    }

    fn at(&self, x: f64, y: f64) -> (f64, u32) {
        (self.x(x), self.y(y))
    }
}

/// A sweep: a line for each series, with intervals, and the counts at which a cache is full; `None` where
/// nothing was measured.
pub(in crate::render) fn curve(curve: &Curve<'_>) -> Option<Plot> {
    let points = |index: usize| {
        let points = curve.series[index].points.iter();
        points.filter_map(|(x, figure)| Some((*x as f64, figure.reading()?)))
    };
    let all = || (0..curve.series.len()).flat_map(points);
    all().next()?;
    let bounds = all().flat_map(|(_, reading)| {
        let interval = reading.mean.interval.map(|i| [i.low, i.high]).into_iter().flatten();
        interval.chain([reading.mean.value])
    });
    let axes =
        (Axis::swept(all().map(|(x, _)| x)), Axis::spanning(bounds, curve.metric.quantity()));
    let mut plot = Plot::new(curve.title);
    plot.legend(curve.series.iter().map(|series| series.name.as_str()));
    let area = Area::of(&mut plot, axes, (&curve.over, &curve.metric.label()));
    // Whose cache it is stands below the plot.
    for (index, full) in curve.held.iter().flat_map(|held| &held.full).enumerate() {
        let (x, y) = (area.x(full.tasks), area.top + 8 + 14 * (index as u32 % 3));
        plot.line((x, area.top), (x, area.top + HEIGHT), "rule");
        plot.text(&full.cache, (x, 4), y, "start", "muted");
    }
    for index in 0..curve.series.len() {
        let class = format!("line {}", super::color(index));
        let line: Vec<(f64, u32)> = points(index).map(|(x, r)| area.at(x, r.mean.value)).collect();
        for ends in line.windows(2) {
            plot.line(ends[0], ends[1], &class);
        }
        for (x, reading) in points(index) {
            if let Some(interval) = &reading.mean.interval {
                plot.line(area.at(x, interval.low), area.at(x, interval.high), &class);
            }
            plot.mark(area.at(x, reading.mean.value), index);
        }
    }
    Some(plot)
}
