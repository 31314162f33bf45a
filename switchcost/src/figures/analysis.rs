//! From records to estimates with intervals. The process is the sample: what is averaged here are
//! the means of whole processes, never their iterations.

use std::collections::BTreeMap;

use contract::message::Claim;
use record::{Metric, Record};
use serde::{Serialize, Serializer};
use stats::Estimate;

use crate::figures::CONFIDENCE;
use crate::figures::cases::{self, Cases, Key, Reading, Runs};
use crate::figures::change_point::{Course, Held, Overtaking};
use crate::figures::memory::{self, Slopes};

/// Everything that a file of records answers.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// One for each section of the plan.
    pub tables: Vec<Table>,
    /// One for each sweep.
    pub curves: Vec<Curve>,
    /// How many records there are.
    pub records: usize,
    /// Warnings to read before the figures.
    pub warnings: Vec<String>,
}

/// One section's results.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its heading.
    pub title: String,
    /// Metric.
    pub metric: Metric,
    /// The column headings.
    pub columns: Vec<String>,
    /// Metric of each column: that one, or in a further column another figure of the same runs.
    pub metrics: Vec<Metric>,
    /// The rows in the plan's order.
    pub rows: Vec<Row>,
}

/// One row's results.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name.
    pub name: String,
    /// The row that is subtracted.
    pub baseline: Option<String>,
    /// The row that is divided by.
    pub versus: Option<String>,
    /// One for each column.
    pub cells: Vec<Cell>,
}

/// One case's results.
#[derive(Clone, Debug)]
pub enum Cell {
    /// No run of it is in the file; in a further column, none that tells the figure.
    Absent,
    /// Every run of it failed; the last one's reason.
    Failed(String),
    /// A figure of each round.
    Reading(Box<Reading>),
    /// Sizes, in bytes for each task.
    Memory(Box<Slopes>),
}

/// A figure is called by what it is: `time`, `bytes`, `rate`, `throughput`, `count` or `share`.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Absent => serializer.serialize_unit_variant("Cell", 0, "absent"),
            Cell::Failed(reason) => {
                serializer.serialize_newtype_variant("Cell", 1, "failed", reason)
            }
            Cell::Reading(reading) => {
                let name = reading.quantity().name();
                serializer.serialize_newtype_variant("Cell", 2, name, reading)
            }
            Cell::Memory(slopes) => {
                serializer.serialize_newtype_variant("Cell", 3, "memory", slopes)
            }
        }
    }
}

/// How a time moves with a flag.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Its heading.
    pub title: String,
    /// Figure of each record.
    pub metric: Metric,
    /// The flag that is swept.
    pub over: String,
    /// One for each row and column.
    pub series: Vec<Series>,
    /// Where it runs over the number of tasks: the memory that they hold, one for each row.
    pub held: Vec<Held>,
    /// Where the hops of threads become cheaper than those of tasks in the same place, or dearer.
    pub overtakings: Vec<Overtaking>,
}

/// One line of a curve.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// The row's and the column's name.
    pub name: String,
    /// The points in ascending order: the flag's value, and what was measured there.
    pub points: Vec<(u64, Cell)>,
    /// Where it leaves the level that it begins at, if there are points enough to tell.
    pub course: Option<Course>,
}

/// Analyses the records of a plan; those of runs by hand are passed over.
pub fn analyse(records: &[Record]) -> Analysis {
    let cases = Cases::of(records);
    let mut analysis = Analysis {
        tables: Vec::new(),
        curves: Vec::new(),
        records: records.len(),
        warnings: crate::figures::notes::warnings(records),
    };
    for (key, runs) in cases.in_order() {
        let cell = cell(&cases, key, runs);
        match (&runs.place.case.over, key.x) {
            (Some(over), Some(x)) => analysis.curve(key, runs, over).put(key, x, cell),
            _ => analysis.table(key, runs).put(key, runs, cell),
        }
    }
    for curve in &mut analysis.curves {
        curve.describe(&cases);
    }
    analysis
}

/// Cell of a case.
pub(crate) fn cell(cases: &Cases<'_>, key: &Key, runs: &Runs<'_>) -> Cell {
    let further = runs.view.further;
    if runs.all.is_empty() {
        // The section's own column says why.
        if further {
            return Cell::Absent;
        }
        return Cell::Failed(runs.reason.unwrap_or("interrupted").to_owned());
    }
    if runs.view.metric.is_slope() {
        let versus = cases.versus(key).map(|(_, versus)| &versus.all[..]);
        return match memory::slopes(&runs.all, versus) {
            Some(slopes) => Cell::Memory(Box::new(Slopes { failed: runs.failed, ..slopes })),
            None => Cell::Failed(memory::no_slope(&runs.all).to_owned()),
        };
    }
    match cases.reading(key) {
        Some(reading) => Cell::Reading(Box::new(reading)),
        None if further => Cell::Absent,
        None => Cell::Failed(no_figure(runs)),
    }
}

/// Why runs have no reading.
pub(crate) fn no_figure(runs: &Runs<'_>) -> String {
    match runs.all.iter().any(|record| record.samples.is_some()) {
        true => format!("the records do not tell: {}", runs.view.metric.label()),
        false => "the records hold no samples".to_owned(),
    }
}

impl Analysis {
    /// The case in which two equal runs differ most, and by what share: the bound of the A/A
    /// ratio's interval that lies farther from one. `None` where no case was run twice a round.
    pub fn noise_floor(&self) -> Option<(String, f64)> {
        let mut floors = Vec::new();
        for table in &self.tables {
            for row in &table.rows {
                for (_, column, cell) in table.own(row) {
                    if let Cell::Reading(reading) = cell
                        && let Some(noise) = &reading.noise
                    {
                        let name = cases::case_name(&row.name, column);
                        floors.push((name, noise.factor_from_one()?));
                    }
                }
            }
        }
        floors.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn table(&mut self, key: &Key, runs: &Runs<'_>) -> &mut Table {
        let index = self.tables.iter().position(|t| t.title == key.section);
        let index = index.unwrap_or_else(|| {
            self.tables.push(Table {
                title: key.section.clone(),
                metric: runs.view.metric.clone(),
                columns: Vec::new(),
                metrics: Vec::new(),
                rows: Vec::new(),
            });
            self.tables.len() - 1
        });
        &mut self.tables[index]
    }

    fn curve(&mut self, key: &Key, runs: &Runs<'_>, over: &str) -> &mut Curve {
        let index = self.curves.iter().position(|c| c.title == key.section);
        let index = index.unwrap_or_else(|| {
            self.curves.push(Curve {
                title: key.section.clone(),
                metric: runs.view.metric.clone(),
                over: over.to_owned(),
                series: Vec::new(),
                held: Vec::new(),
                overtakings: Vec::new(),
            });
            self.curves.len() - 1
        });
        &mut self.curves[index]
    }
}

impl Curve {
    fn put(&mut self, key: &Key, x: u64, cell: Cell) {
        let name = key.name();
        match self.series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push((x, cell)),
            None => self.series.push(Series { name, points: vec![(x, cell)], course: None }),
        }
    }

    /// Adds what is known once all points are there.
    fn describe(&mut self, cases: &Cases<'_>) {
        let mut rows: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
        let mut kinds: BTreeMap<String, (&str, Claim)> = BTreeMap::new();
        for (key, runs) in cases.in_order() {
            if key.section == self.title {
                rows.entry(&key.row).or_default().extend(&runs.all);
                let claim = runs.all.iter().find_map(|run| run.claim);
                kinds.extend(claim.map(|claim| (key.name(), (key.column.as_str(), claim))));
            }
        }
        if matches!(self.metric, Metric::Hop | Metric::Task) {
            self.overtakings = self.overtakings(&kinds);
        }
        // Caches matter to what is done over and over.
        if self.over == "tasks" && matches!(self.metric, Metric::Hop | Metric::Task) {
            self.held = rows.iter().filter_map(|(row, runs)| Held::of(row, runs)).collect();
        }
        for series in &mut self.series {
            series.course = Course::of(&series.measured());
        }
    }

    /// Compares threads with tasks in the same column; `kinds` has the column and the claim of each series.
    fn overtakings(&self, kinds: &BTreeMap<String, (&str, Claim)>) -> Vec<Overtaking> {
        let of = |wanted: Claim| {
            let kind = move |series: &&Series| {
                kinds.get(&series.name).is_some_and(|(_, claim)| *claim == wanted)
            };
            self.series.iter().filter(kind)
        };
        let column = |series: &Series| kinds.get(&series.name).map(|(column, _)| column);
        let pairs = of(Claim::KernelSwitch)
            .flat_map(|threads| of(Claim::UserSwitch).map(move |tasks| (threads, tasks)))
            .filter(|(threads, tasks)| column(threads) == column(tasks));
        let compared = pairs.filter_map(|(threads, tasks)| {
            Overtaking::of([&threads.name, &tasks.name], &threads.ratios(tasks))
        });
        compared.collect()
    }
}

impl Series {
    /// Ratios of this series by another, round by round, where no run of either failed.
    fn ratios(&self, other: &Series) -> Vec<(u64, Estimate)> {
        let whole = |(x, cell): &(u64, Cell)| match cell {
            Cell::Reading(reading) if reading.failed == 0 => Some((*x, reading.means.clone())),
            _ => None,
        };
        let others: BTreeMap<u64, Vec<f64>> = other.points.iter().filter_map(whole).collect();
        let ratio = |(x, means): (u64, Vec<f64>)| {
            Some((x, Estimate::ratio(&means, others.get(&x)?, CONFIDENCE)?))
        };
        self.points.iter().filter_map(whole).filter_map(ratio).collect()
    }

    /// The points that were measured.
    pub fn measured(&self) -> Vec<(u64, Estimate)> {
        let measured = |(x, cell): &(u64, Cell)| match cell {
            Cell::Reading(reading) => Some((*x, reading.mean)),
            _ => None,
        };
        self.points.iter().filter_map(measured).collect()
    }
}

impl Table {
    fn put(&mut self, key: &Key, runs: &Runs<'_>, cell: Cell) {
        if !self.columns.contains(&key.column) {
            self.columns.push(key.column.clone());
            self.metrics.push(runs.view.metric.clone());
            for row in &mut self.rows {
                row.cells.push(Cell::Absent);
            }
        }
        if !self.rows.iter().any(|row| row.name == key.row) {
            self.rows.push(Row {
                name: key.row.clone(),
                baseline: runs.place.case.baseline.clone(),
                versus: runs.place.case.versus.clone(),
                cells: vec![Cell::Absent; self.columns.len()],
            });
        }
        let column = self.columns.iter().position(|c| *c == key.column);
        let row = self.rows.iter_mut().find(|row| row.name == key.row);
        if let (Some(column), Some(row)) = (column, row) {
            row.cells[column] = cell;
        }
    }

    /// True if a column shows another metric than the section's own.
    pub fn is_further(&self, column: usize) -> bool {
        self.metrics.get(column).is_some_and(|metric| *metric != self.metric)
    }

    /// True if any does.
    pub fn has_further(&self) -> bool {
        (0..self.columns.len()).any(|column| self.is_further(column))
    }

    /// The cells of a row that show the section's own metric: each with the place and the heading
    /// of its column.
    pub fn own<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = (usize, &'a String, &'a Cell)> {
        let cells = self.columns.iter().zip(&row.cells).enumerate();
        let own = cells.filter(|(column, _)| !self.is_further(*column));
        own.map(|(column, (heading, cell))| (column, heading, cell))
    }

    /// The table without its further columns.
    pub fn of_own_metric(&self) -> Table {
        let kept = |column: &usize| !self.is_further(*column);
        let kept: Vec<usize> = (0..self.columns.len()).filter(kept).collect();
        let rows = self.rows.iter().map(|row| Row {
            cells: kept.iter().map(|&column| row.cells[column].clone()).collect(),
            ..row.clone()
        });
        Table {
            title: self.title.clone(),
            metric: self.metric.clone(),
            columns: kept.iter().map(|&c| self.columns[c].clone()).collect(),
            metrics: vec![self.metric.clone(); kept.len()],
            rows: rows.collect(),
        }
    }
}
