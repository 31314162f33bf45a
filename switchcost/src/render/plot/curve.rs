//! How a time moves with a flag: a line for each series, with intervals as error bars.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, SMALL, Shape, Size, draw, text_width};
use super::line::frame;
use super::theme::{MUTED, PAPER, series};
use crate::analysis::{Cell, Curve, Series};
use crate::cases::Reading;
use crate::working_set::Mark;

/// The part of a drawing that the axes enclose.
struct Area {
    x: Axis,
    y: Axis,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl Area {
    fn place(&self, x: f64, y: f64) -> (i32, i32) {
        (self.x.place(x, self.left, self.right), self.y.place(y, self.bottom, self.top))
    }
}

/// Draws the curve, with a dashed line at each mark; `None` where it has no times.
pub(in crate::render) fn curve(curve: &Curve, marks: &[Mark], size: Size) -> Option<String> {
    let height = if size == Size::Wide { 400 } else { 300 };
    let known: Vec<(f64, &Reading)> = curve.series.iter().flat_map(times).collect();
    if known.is_empty() {
        return None;
    }
    let reach = known.iter().flat_map(|(_, reading)| extent(reading));
    let y = Axis::spanning(reach, curve.metric.quantity(), if size == Size::Wide { 8 } else { 6 });
    let widest = y.ticks.iter().map(|(_, label)| text_width(label, SMALL));
    let left = widest.max().unwrap_or(0) + 10;
    let right = size.width() - 22;
    let values: Vec<f64> = known.iter().map(|(x, _)| *x).collect();
    let area = Area {
        x: Axis::swept(&values, ((right - left) / 52).max(2) as usize),
        y,
        left,
        right,
        top: if marks.is_empty() { 28 } else { 62 },
        bottom: height - 46,
    };
    let svg = draw(size, height, &curve.title, |canvas| {
        canvas.title_of_y(&format!("{}{}", curve.metric.label(), area.y.remark()));
        frame(canvas, (&area.x, &area.y), (left, right), (area.top, area.bottom));
        let over = format!("{}{}", curve.over.replace('_', " "), area.x.remark());
        canvas.text(&over, ((left + right) / 2, height - 12), Anchor::Middle, MUTED);
        draw_marks(canvas, &area, marks, size);
        for (index, series) in curve.series.iter().enumerate() {
            draw_series(canvas, &area, series, index);
        }
    });
    Some(svg)
}

fn times(series: &Series) -> impl Iterator<Item = (f64, &Reading)> {
    series.points.iter().filter_map(|(x, cell)| match cell {
        Cell::Reading(reading) => Some((*x as f64, &**reading)),
        _ => None,
    })
}

fn extent(reading: &Reading) -> Vec<f64> {
    match (&reading.modes, &reading.mean.interval) {
        (Some(modes), _) => modes.iter().map(|mode| mode.centre).collect(),
        (None, Some(interval)) => vec![interval.low, interval.high],
        (None, None) => vec![reading.mean.value],
    }
}

/// Where the line goes: through the mean, or through the mode that more processes fell into.
fn height(reading: &Reading) -> f64 {
    match &reading.modes {
        Some([low, high]) if high.weight > low.weight => high.centre,
        Some([low, _]) => low.centre,
        None => reading.mean.value,
    }
}

fn draw_series(canvas: &mut Canvas, area: &Area, of: &Series, index: usize) {
    let color = series(index);
    let line = times(of).map(|(x, reading)| area.place(x, height(reading)));
    let line: Vec<(i32, i32)> = line.collect();
    canvas.path(&line, color, 2);
    for (x, reading) in times(of) {
        if let (None, Some(interval)) = (&reading.modes, &reading.mean.interval) {
            let (at, low) = area.place(x, interval.low);
            let (_, high) = area.place(x, interval.high);
            canvas.line((at, low), (at, high), color, 1);
            for end in [low, high] {
                canvas.line((at - 4, end), (at + 4, end), color, 1);
            }
        }
        let shape = Shape::of_series(index);
        match &reading.modes {
            // Both, the hollow one being the rarer.
            Some(modes) => {
                for mode in modes {
                    let at = area.place(x, mode.centre);
                    canvas.shape(shape, at, 5, color);
                    if mode.centre != height(reading) {
                        canvas.shape(shape, at, 3, PAPER);
                    }
                }
            }
            None => canvas.shape(shape, area.place(x, height(reading)), 4, color),
        }
    }
}

/// Each label stands on the first of three levels that has room for it, so that near ones do not
/// cover each other.
fn draw_marks(canvas: &mut Canvas, area: &Area, marks: &[Mark], size: Size) {
    let mut levels = [(24, i32::MIN), (40, i32::MIN), (56, i32::MIN)];
    let shown = marks.iter().filter(|mark| area.x.contains(mark.x));
    for mark in shown {
        let x = area.x.place(mark.x, area.left, area.right);
        let label = match (size, mark.label.split_once(": ")) {
            // There is no room for whose they are; the text below the plot says it.
            (Size::Narrow, Some((cache, _))) => cache,
            _ => mark.label.as_str(),
        };
        let place = |label: &str| {
            let half = text_width(label, SMALL) / 2 + 3;
            let centre = x.clamp(half, (area.right + 20 - half).max(half));
            let level = levels.iter().position(|&(_, end)| end < centre - half);
            (half, centre, level)
        };
        let cache = mark.label.split(": ").next().unwrap_or_default();
        let (label, (half, centre, level)) = match place(label) {
            // Where it would cover another one, at least which cache it is.
            (.., None) => (cache, place(cache)),
            placed => (label, placed),
        };
        let (y, end) = &mut levels[level.unwrap_or(0)];
        *end = centre + half;
        canvas.dashes(x, *y + 8, area.bottom, MUTED);
        canvas.plate(label, (centre, *y));
    }
}
