//! Memory over the number of tasks: every run, and the line through them.

use record::Quantity;

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, SMALL, Shape, Size, draw, text_width};
use super::theme::{MUTED, series};
use crate::analysis::{Cell, Table};
use crate::memory::{Fit, Slopes};

/// Points and line of one case.
struct Plotted<'a> {
    points: Vec<(f64, f64)>,
    fit: &'a Fit,
    /// Its place among the table's cases, so that both plots give it one colour.
    index: usize,
}

/// Draws the processes' own memory, and the kernel's where it is known: one SVG each.
pub(in crate::render) fn memory(table: &Table, size: Size) -> Vec<String> {
    let cases: Vec<&Slopes> = table
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .filter_map(|cell| match cell {
            Cell::Memory(slopes) => Some(&**slopes),
            _ => None,
        })
        .collect();
    let user: Vec<Plotted<'_>> = cases
        .iter()
        .enumerate()
        .map(|(index, slopes)| Plotted {
            points: slopes.points.iter().map(|p| (p.0 as f64, p.1)).collect(),
            fit: &slopes.user,
            index,
        })
        .collect();
    let kernel: Vec<Plotted<'_>> = cases
        .iter()
        .enumerate()
        .filter_map(|(index, slopes)| {
            let points = slopes.points.iter();
            Some(Plotted {
                points: points.filter_map(|p| Some((p.0 as f64, p.2?))).collect(),
                fit: slopes.kernel.as_ref()?,
                index,
            })
        })
        .collect();
    [("resident memory of the process", user), ("kernel memory that the run added", kernel)]
        .iter()
        .filter(|(_, cases)| !cases.is_empty())
        .map(|(what, cases)| plot(&format!("{}: {what}", table.title), what, cases, size))
        .collect()
}

fn plot(title: &str, what: &str, cases: &[Plotted<'_>], size: Size) -> String {
    const HEIGHT: i32 = 290;
    let points = || cases.iter().flat_map(|case| &case.points);
    let most_tasks = points().map(|p| p.0).fold(1.0, f64::max);
    let least = points().map(|p| p.1).fold(0.0, f64::min);
    let most = points().map(|p| p.1).fold(1.0, f64::max);
    let y = Axis::linear(least * 1.05, most * 1.05, Quantity::Bytes, 7);
    let widest = y.ticks.iter().map(|(_, label)| text_width(label, SMALL));
    let left = widest.max().unwrap_or(0) + 10;
    let right = size.width() - 14;
    let x = Axis::linear(0.0, most_tasks * 1.02, Quantity::Count, 5);
    let (top, bottom) = (26, HEIGHT - 46);
    draw(size, HEIGHT, title, |canvas| {
        canvas.title_of_y(what);
        frame(canvas, (&x, &y), (left, right), (top, bottom));
        canvas.text("tasks", ((left + right) / 2, HEIGHT - 12), Anchor::Middle, MUTED);
        for case in cases {
            let color = series(case.index);
            let place = |(tasks, size): (f64, f64)| {
                (x.place(tasks, left, right), y.place(size, bottom, top))
            };
            let line = &case.fit.line;
            let end = case.points.iter().map(|p| p.0).fold(0.0, f64::max);
            let at = |tasks: f64| (tasks, line.intercept.estimate + line.slope.estimate * tasks);
            canvas.line(place(at(0.0)), place(at(end)), color, 2);
            for point in &case.points {
                canvas.shape(Shape::of_series(case.index), place(*point), 3, color);
            }
        }
    })
}

/// Grid lines with their labels.
pub(super) fn frame(
    canvas: &mut Canvas,
    (x, y): (&Axis, &Axis),
    (left, right): (i32, i32),
    (top, bottom): (i32, i32),
) {
    for (value, label) in &y.ticks {
        let at = y.place(*value, bottom, top);
        canvas.grid_line((left, at), (right, at));
        canvas.text(label, (left - 6, at), Anchor::End, MUTED);
    }
    for (value, label) in &x.ticks {
        let at = x.place(*value, left, right);
        canvas.grid_line((at, bottom), (at, bottom + 4));
        canvas.label(label, (at, bottom + 14), right + 12);
    }
    // What lies below zero is still less than nothing.
    let base = match y.contains(0.0) {
        true => y.place(0.0, bottom, top),
        false => bottom,
    };
    canvas.line((left, base), (right, base), MUTED, 1);
}
