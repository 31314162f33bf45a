//! Tables and curves: projections of the cube.

use contract::message::Claim;
use facts::{Metric, Record};
use serde::Serialize;
use stats::Estimate;

use crate::figures::change_point::{Course, Held, Overtaking};
use crate::figures::{CONFIDENCE, Figure, Figures, Outcome, grouped};

/// Tables and curves of some figures, in the plan's order.
#[derive(Debug)]
pub struct Tables<'a> {
    /// A table for each section that sweeps nothing.
    pub tables: Vec<Table<'a>>,
    /// A curve for each other one.
    pub curves: Vec<Curve<'a>>,
}

/// One section's figures.
#[derive(Debug)]
pub struct Table<'a> {
    /// Heading.
    pub title: &'a str,
    /// The section's own metric.
    pub metric: &'a Metric,
    /// Headings of the columns, and whether each is a further one, of another metric.
    pub columns: Vec<(&'a str, bool)>,
    /// Rows.
    pub rows: Vec<Row<'a>>,
}

/// One row's figures.
#[derive(Debug)]
pub struct Row<'a> {
    /// Name.
    pub name: &'a str,
    /// Row that is subtracted.
    pub baseline: Option<&'a str>,
    /// Row that is divided by.
    pub versus: Option<&'a str>,
    /// One for each column; `None` if no process of it is in the file.
    pub cells: Vec<Option<&'a Figure<'a>>>,
}

/// Figures over a flag that is swept.
#[derive(Debug, Serialize)]
pub struct Curve<'a> {
    /// Heading.
    pub title: &'a str,
    /// Metric.
    pub metric: &'a Metric,
    /// Flag that is swept, as it is typed.
    pub over: String,
    /// One for each row and column.
    pub series: Vec<Series<'a>>,
    /// Memory that the tasks hold, one for each row, if the number of tasks is swept.
    pub held: Vec<Held>,
    /// Points from which the hops of threads become cheaper than those of tasks in the same place, or dearer.
    pub overtakings: Vec<Overtaking>,
}

/// One line of a curve.
#[derive(Debug, Serialize)]
pub struct Series<'a> {
    /// Name of the row and the column.
    pub name: String,
    /// Points in ascending order: the flag's value, and what was measured there.
    #[serde(skip)]
    pub points: Vec<(u64, &'a Figure<'a>)>,
    /// Course, if there are points enough to tell.
    pub course: Option<Course>,
}

impl<'a> Tables<'a> {
    /// Projects figures.
    pub fn of(figures: &'a Figures<'a>) -> Self {
        let sections = grouped(figures.iter().map(|f| ((&f.key.section, f.key.x.is_some()), f)));
        let (curves, tables): (Vec<_>, Vec<_>) =
            sections.into_iter().partition(|((_, is_swept), _)| *is_swept);
        Tables {
            tables: tables.iter().map(|(_, figures)| Table::of(figures)).collect(),
            curves: curves.iter().filter_map(|(_, figures)| Curve::of(figures)).collect(),
        }
    }
}

impl<'a> Table<'a> {
    fn of(figures: &[&'a Figure<'a>]) -> Self {
        let columns = grouped(figures.iter().map(|f| (f.key.column.as_str(), f)));
        let rows = grouped(figures.iter().map(|f| (f.key.row.as_str(), *f)));
        let row = |(name, cells): (&'a str, Vec<&'a Figure<'a>>)| Row {
            name,
            baseline: cells[0].runs.place.case.baseline.as_deref(),
            versus: cells[0].runs.place.case.versus.as_deref(),
            cells: columns
                .iter()
                .map(|(column, _)| cells.iter().find(|f| f.key.column == *column).copied())
                .collect(),
        };
        Table {
            title: &figures[0].key.section,
            metric: &figures[0].runs.place.section.metric,
            rows: rows.into_iter().map(row).collect(),
            columns: columns.iter().map(|(name, f)| (*name, f[0].runs.is_further())).collect(),
        }
    }

    /// All figures of the table, row by row.
    pub fn figures(&self) -> impl Iterator<Item = &'a Figure<'a>> {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten().copied())
    }
}

impl<'a> Curve<'a> {
    fn of(figures: &[&'a Figure<'a>]) -> Option<Self> {
        let (over, _) = figures[0].swept()?;
        let metric = figures[0].metric();
        let is_time = matches!(metric, Metric::Hop | Metric::Task);
        let rows = grouped(figures.iter().map(|f| (&f.key.row, *f)));
        let held = rows.iter().filter_map(|(row, figures)| {
            let runs = figures.iter().flat_map(|figure| &figure.runs.whole);
            Held::of(row, &runs.copied().collect::<Vec<&Record>>())
        });
        let series = grouped(figures.iter().map(|f| (f.key.name(), *f)));
        Some(Curve {
            title: &figures[0].key.section,
            metric,
            // Caches matter to what is done over and over.
            held: if over == "--tasks" && is_time { held.collect() } else { Vec::new() },
            overtakings: if is_time { overtakings(figures) } else { Vec::new() },
            over,
            series: series.into_iter().map(|(name, figures)| Series::new(name, &figures)).collect(),
        })
    }
}

/// Compares threads with tasks in the same column.
fn overtakings(figures: &[&Figure<'_>]) -> Vec<Overtaking> {
    let mut columns = grouped(figures.iter().map(|f| (&f.key.column, *f)));
    let mut found = Vec::new();
    for (_, figures) in &mut columns {
        let rows = grouped(figures.iter().map(|f| (f.key.name(), *f)));
        let of_claim = |wanted: Claim| {
            rows.iter().filter(move |(_, figures)| {
                let claims = figures.iter().flat_map(|f| &f.runs.whole).map(|run| run.claim);
                claims.flatten().next() == Some(wanted)
            })
        };
        for (threads, of_threads) in of_claim(Claim::KernelSwitch) {
            for (tasks, of_tasks) in of_claim(Claim::UserSwitch) {
                let ratios = ratios(of_threads, of_tasks);
                found.extend(Overtaking::of([threads, tasks], &ratios));
            }
        }
    }
    found
}

/// Ratios of two series, round by round, at each x at which no process of either failed.
fn ratios(own: &[&Figure<'_>], other: &[&Figure<'_>]) -> Vec<(u64, Estimate)> {
    let whole = |figure: &Figure<'_>| {
        let reading = figure.reading().filter(|reading| reading.failed == 0)?;
        Some((figure.key.x?, reading.means.clone()))
    };
    let others: Vec<(u64, Vec<f64>)> = other.iter().filter_map(|f| whole(f)).collect();
    let ratios = own.iter().filter_map(|figure| {
        let (x, means) = whole(figure)?;
        let (_, other) = others.iter().find(|(at, _)| *at == x)?;
        Some((x, Estimate::ratio(&means, other, CONFIDENCE)?))
    });
    ratios.collect()
}

impl<'a> Series<'a> {
    fn new(name: String, figures: &[&'a Figure<'a>]) -> Self {
        let points = figures.iter().filter_map(|figure| Some((figure.key.x?, *figure)));
        let mut series = Series { name, points: points.collect(), course: None };
        series.course = Course::of(&series.measured());
        series
    }

    /// Points that were measured.
    pub fn measured(&self) -> Vec<(u64, Estimate)> {
        let points = self.points.iter();
        points.filter_map(|(x, figure)| Some((*x, figure.reading()?.mean))).collect()
    }

    /// True if anything was tried.
    pub fn was_tried(&self) -> bool {
        let mut points = self.points.iter();
        points.any(|(_, f)| !matches!(f.outcome, Outcome::Absent | Outcome::NotRun { .. }))
    }
}
