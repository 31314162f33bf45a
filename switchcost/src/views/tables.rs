//! Tables and curves: projections of the cube.

use figures::curves::Overtaking;
use figures::value::Value;
use figures::{Figure, Figures, Outcome, grouped, unique};
use record::{Metric, Why};
use serde::Serialize;

/// Figures of a section that sweeps nothing.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) title: &'a str,
    pub(crate) metric: &'a Metric,
    /// Headings of the columns, and what each shows.
    pub(crate) columns: Vec<(&'a str, &'a Metric)>,
    /// Names of the rows, and a figure for each column; `None` if no process of it is in the file.
    pub(crate) rows: Vec<(&'a str, Vec<Option<&'a Figure<'a>>>)>,
}

/// Figures over a flag that is swept.
#[derive(Debug, Serialize)]
pub(crate) struct Curve<'a> {
    pub(crate) title: String,
    pub(crate) metric: &'a Metric,
    /// Flag that is swept, as it is typed.
    pub(crate) over: &'a str,
    pub(crate) series: Vec<Series<'a>>,
    /// Points from which on a series takes less time than another one in the same column that took less before. For
    /// hops, a thread's series and a task's.
    pub(crate) overtakings: Vec<Overtaking>,
}

/// One line of a curve.
#[derive(Debug, Serialize)]
pub(crate) struct Series<'a> {
    pub(crate) name: String,
    /// Points in ascending order: the flag's value, and what was measured there.
    #[serde(skip)]
    pub(crate) points: Vec<(u64, &'a Figure<'a>)>,
    /// The last point divided by the first one, round by round, if there is an interval.
    pub(crate) end: Option<Value>,
    /// Of a rate per CPU, the efficiency: each further point divided likewise.
    pub(crate) efficiency: Vec<(u64, Value)>,
}

/// A table for each section that sweeps nothing, in the plan's order.
pub(crate) fn tables<'a>(figures: &'a Figures<'a>) -> Vec<Table<'a>> {
    let figures = figures.iter().filter(|figure| figure.swept().is_none());
    let sections = grouped(figures.map(|figure| (&figure.place().section, figure)));
    sections.into_iter().map(|(title, figures)| Table::of(title, &figures)).collect()
}

/// A curve for each flag that a section sweeps and each of its metrics, in the plan's order.
pub(crate) fn curves<'a>(figures: &'a Figures<'a>) -> Vec<Curve<'a>> {
    let figures = figures.iter().filter_map(|figure| {
        let (over, _) = figure.swept()?;
        Some(((&figure.place().section, over, figure.metric()), figure))
    });
    let curves = grouped(figures).into_iter();
    curves.map(|((_, over, metric), figures)| Curve::of(over, metric, &figures)).collect()
}

impl<'a> Table<'a> {
    fn of(title: &'a str, figures: &[&'a Figure<'a>]) -> Self {
        let columns = figures.iter().map(|f| (f.place().column.as_str(), f.metric()));
        let columns: Vec<(&str, &Metric)> = unique(columns);
        let rows = grouped(figures.iter().map(|f| (f.place().row.as_str(), *f)));
        let rows = rows.into_iter().map(|(name, figures)| {
            let cells = columns.iter().map(|(column, metric)| {
                let mut figures = figures.iter().copied();
                figures.find(|f| f.place().column == *column && f.metric() == *metric)
            });
            (name, cells.collect())
        });
        let metric = &figures[0].runs.row.place.metric;
        Table { title, metric, rows: rows.collect(), columns }
    }

    /// All figures of the table, row by row.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &'a Figure<'a>> {
        self.rows.iter().flat_map(|(_, cells)| cells.iter().flatten().copied())
    }
}

impl<'a> Curve<'a> {
    fn of(over: &'a str, metric: &'a Metric, figures: &[&'a Figure<'a>]) -> Self {
        let row = figures[0].runs.row;
        let mut title = row.place.section.clone();
        if let Some(also) = row.also.iter().find(|also| also.metric == *metric) {
            title += &format!(": {}", also.name);
        }
        let is_time = matches!(metric, Metric::Hop | Metric::Task | Metric::Iteration);
        let series = grouped(figures.iter().map(|f| (f.runs.row.place.name(), *f)));
        Curve {
            title,
            metric,
            over,
            overtakings: if is_time { overtakings(figures) } else { Vec::new() },
            series: series.into_iter().map(|(name, figures)| Series::new(name, &figures)).collect(),
        }
    }
}

/// Compares the series of each column.
fn overtakings(figures: &[&Figure<'_>]) -> Vec<Overtaking> {
    let mut overtakings = Vec::new();
    for (_, figures) in grouped(figures.iter().map(|f| (&f.place().column, *f))) {
        let rows = grouped(figures.iter().map(|f| (f.runs.row.place.name(), *f)));
        for (place, (name, series)) in rows.iter().enumerate() {
            for (other_name, other) in &rows[place + 1..] {
                // What two kinds of threads cost is no news, nor what two placements do.
                let is_whole = *series[0].metric() == Metric::Iteration;
                let [a, b] = [series, other].map(|series| series.iter().find_map(|f| f.claim()));
                if is_whole || a != b {
                    overtakings.extend(Overtaking::of([name, other_name], &ratios(series, other)));
                }
            }
        }
    }
    overtakings
}

/// Ratios of two series, round by round, at each x at which no process of either failed.
fn ratios(series: &[&Figure<'_>], divisors: &[&Figure<'_>]) -> Vec<(u64, Value)> {
    let ratios = series.iter().filter_map(|figure| {
        let x = figure.place().x?;
        let other = divisors.iter().find(|other| other.place().x == Some(x))?;
        let is_whole = figure.runs.failed == 0 && other.runs.failed == 0;
        Some((x, figure.divided_by(other).ok().filter(|_| is_whole)?))
    });
    ratios.collect()
}

impl<'a> Series<'a> {
    fn new(name: String, figures: &[&'a Figure<'a>]) -> Self {
        let points = figures.iter().filter_map(|figure| Some((figure.place().x?, *figure)));
        let points: Vec<(u64, &Figure<'_>)> = points.collect();
        let mut ratios: Vec<(u64, Value)> = Vec::new();
        if let [(_, first), others @ ..] = &points[..] {
            ratios.extend(
                others.iter().filter_map(|(x, own)| Some((*x, own.divided_by(first).ok()?))),
            );
        }
        let end = ratios.last().filter(|(x, _)| points.last().is_some_and(|(last, _)| x == last));
        let end = end.map(|(_, ratio)| ratio).filter(|ratio| ratio.estimate.interval.is_some());
        let end = end.cloned();
        if !figures.iter().all(|figure| *figure.metric() == Metric::HopRatePerCpu) {
            ratios.clear();
        }
        Series { name, points, end, efficiency: ratios }
    }

    pub(crate) fn was_tried(&self) -> bool {
        let mut points = self.points.iter();
        points
            .any(|(_, f)| !matches!(f.outcome, Outcome::Absent | Outcome::Missing(Why::LeftOut(_))))
    }
}
