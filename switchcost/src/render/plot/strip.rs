//! Distributions: every process mean of every case of a table.

use record::Metric;

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, SMALL, Shape, Size, TEXT, draw, fitting};
use super::theme::{GRID, INK, MUTED, series};
use crate::analysis::{Cell, Row, Table};
use crate::cases::Reading;

/// Room at the right, for the figures.
const GUTTER: i32 = 76;
/// Height of a row's name.
const NAME: i32 = 22;
/// Height of a case.
const BAND: i32 = 30;
/// Below a row.
const GAP: i32 = 8;
/// Below the last row, for the axis.
const FOOT: i32 = 40;
/// Left of the axis, for half of its first label.
const LEFT: i32 = 12;

/// Draws the table; `None` where it has no times.
pub(in crate::render) fn strip(table: &Table, size: Size) -> Option<String> {
    let times = |row: &Row| {
        let times = row.cells.iter().filter_map(|cell| match cell {
            Cell::Reading(reading) => Some(extent(reading)),
            _ => None,
        });
        times.flatten().collect::<Vec<f64>>()
    };
    let values: Vec<f64> = table.rows.iter().flat_map(times).collect();
    if values.is_empty() {
        return None;
    }
    let right = size.width() - GUTTER;
    let most = ((right - LEFT) / 76).max(2) as usize;
    let axis = Axis::spanning(values.into_iter(), table.metric.quantity(), most);
    let bottom: i32 = table.rows.iter().map(height).sum();
    let title = format!("{}: every process mean, with intervals", table.title);
    let svg = draw(size, bottom + FOOT, &title, |canvas| {
        foot(canvas, &axis, &table.metric, right, bottom);
        let mut top = 0;
        for row in &table.rows {
            draw_row(canvas, &axis, row, top, right);
            top += height(row);
        }
    });
    Some(svg)
}

/// Everything of a case that must find room on the axis.
fn extent(reading: &Reading) -> Vec<f64> {
    let mut values = reading.means.clone();
    if let (None, Some(interval)) = (&reading.modes, &reading.mean.interval) {
        values.extend([interval.low, interval.high]);
    }
    values
}

fn height(row: &Row) -> i32 {
    let shown = row.cells.iter();
    let shown = shown.filter(|cell| !matches!(cell, Cell::Absent | Cell::Memory(_)));
    NAME + BAND * shown.count() as i32 + GAP
}

/// A row: its name, and below it each of its cases. Grid lines leave the name alone.
fn draw_row(canvas: &mut Canvas, axis: &Axis, row: &Row, top: i32, right: i32) {
    for (value, _) in &axis.ticks {
        let x = axis.place(*value, LEFT, right);
        canvas.grid_line((x, top + NAME), (x, top + height(row) - GAP));
    }
    let name = fitting(&row.name, TEXT, right + GUTTER - LEFT);
    canvas.text_sized(&name, (LEFT, top + 11), Anchor::Start, INK, TEXT);
    let mut y = top + NAME;
    for (column, cell) in row.cells.iter().enumerate() {
        if !matches!(cell, Cell::Absent | Cell::Memory(_)) {
            band(canvas, axis, cell, column, (y, right));
            y += BAND;
        }
    }
}

fn foot(canvas: &mut Canvas, axis: &Axis, metric: &Metric, right: i32, bottom: i32) {
    for (value, label) in &axis.ticks {
        let x = axis.place(*value, LEFT, right);
        canvas.label(label, (x, bottom + 8), right + GUTTER);
    }
    let what = format!("{}{}", metric.label(), axis.remark());
    canvas.text(&what, ((LEFT + right) / 2, bottom + 28), Anchor::Middle, MUTED);
}

/// One case: its points above, its estimate below them, its figure beside them.
fn band(canvas: &mut Canvas, axis: &Axis, cell: &Cell, column: usize, (y, right): (i32, i32)) {
    let middle = y + BAND / 2;
    canvas.line((LEFT, y + 23), (right, y + 23), GRID, 1);
    let Cell::Reading(reading) = cell else {
        canvas.text("failed", (right + 8, middle), Anchor::Start, MUTED);
        return;
    };
    let color = series(column);
    let place = |value: f64| axis.place(value, LEFT, right);
    for (index, mean) in reading.means.iter().enumerate() {
        canvas.dot((place(*mean), y + 10 + jitter(index)), 4, color);
    }
    let figure = match &reading.modes {
        Some(modes) => {
            for mode in modes {
                let at = (place(mode.centre), y + 23);
                canvas.shape(Shape::Diamond, at, 3, INK);
            }
            "two modes".to_owned()
        }
        None => {
            if let Some(interval) = &reading.mean.interval {
                let (low, high) = (place(interval.low), place(interval.high));
                canvas.rectangle((low, y + 22), (high.max(low + 1), y + 25), INK);
            }
            let x = place(reading.mean.value);
            canvas.rectangle((x - 1, y + 18), (x + 1, y + 29), INK);
            reading.quantity().show(reading.mean.value)
        }
    };
    let figure = fitting(&figure, SMALL, GUTTER - 8);
    canvas.text(&figure, (right + 8, middle), Anchor::Start, INK);
}

/// Up or down by up to 7 pixels: the golden ratio spreads neighbours apart, the same way each time.
fn jitter(index: usize) -> i32 {
    let share = (index as f64 * 0.618_033_988_75).fract();
    (share * 14.0).round() as i32 - 7
}
