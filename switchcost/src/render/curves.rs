//! A curve as a table: a line for each value of what is swept, a column for each series.

use super::figures::{first_line, headline};
use super::grid::Grid;
use crate::analysis::{Cell, Curve};

/// A curve of the analysis as text.
pub fn curve_grid(curve: &Curve) -> Grid {
    let mut head = vec![format!("--{}", curve.over.replace('_', "-"))];
    head.extend(curve.series.iter().map(|series| series.name.clone()));
    let points = curve.series.iter().flat_map(|series| &series.points);
    let mut values: Vec<u64> = points.map(|(x, _)| *x).collect();
    values.sort_unstable();
    values.dedup();
    let line = |x: &u64| {
        let cells = curve.series.iter().map(|series| {
            let point = series.points.iter().find(|(at, _)| at == x);
            point.map_or_else(|| "-".to_owned(), |(_, cell)| show(cell))
        });
        [x.to_string()].into_iter().chain(cells).collect()
    };
    Grid {
        head,
        body: values.iter().map(line).collect(),
    }
}

fn show(cell: &Cell) -> String {
    match cell {
        Cell::Time(time) => headline(time),
        Cell::Failed(reason) => format!("failed: {}", first_line(reason)),
        Cell::Absent | Cell::Memory(_) => "-".to_owned(),
    }
}
