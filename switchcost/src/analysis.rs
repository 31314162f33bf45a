//! From records to estimates with intervals. The process is the sample: what is averaged here are
//! the means of whole processes, never their iterations.

use std::collections::BTreeMap;

use harness::record::{Metric, PlanPosition, Record};
use serde::Serialize;

use crate::memory::{self, Slopes};
use crate::stats::{self, Estimate, Mode};

/// How sure the intervals are.
pub const CONFIDENCE: f64 = 0.95;

/// Everything that a file of records answers.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// One for each section of the plan.
    pub tables: Vec<Table>,
    /// How many records there are, and from how many machines and builds.
    pub records: usize,
    /// What a reader should know before trusting the figures.
    pub warnings: Vec<String>,
}

/// One section's results.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub metric: Metric,
    /// The column headings.
    pub columns: Vec<String>,
    /// The rows in the plan's order.
    pub rows: Vec<Row>,
}

/// One row's results.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// The row that is subtracted.
    pub baseline: Option<String>,
    /// The row that is divided by.
    pub versus: Option<String>,
    /// One for each column.
    pub cells: Vec<Cell>,
}

/// One case's results.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// No run of it is in the file.
    Absent,
    /// Every run of it failed; the last one's reason.
    Failed(String),
    /// Times, in ns.
    Time(Box<Time>),
    /// Sizes, in bytes for each task.
    Memory(Box<Slopes>),
}

/// The time of a case, for each hop or task, in ns.
#[derive(Clone, Debug, Serialize)]
pub struct Time {
    /// The mean of the process means.
    pub mean: Estimate,
    /// The median of the process medians.
    pub median: f64,
    /// The shortest iteration of all.
    pub min: f64,
    /// Two clusters of process means, where one mean would tell of neither.
    pub modes: Option<[Mode; 2]>,
    /// How many process means lie outside Tukey's fences. None is dropped.
    pub outliers: usize,
    /// How many runs failed.
    pub failed: usize,
    /// Less the baseline, round by round.
    pub net: Option<Estimate>,
    /// Divided by the row it is compared with, round by round.
    pub ratio: Option<Estimate>,
    /// The same, each less its own baseline.
    pub net_ratio: Option<Estimate>,
}

/// The runs of one case.
#[derive(Default)]
struct Runs<'a> {
    /// By round; in a round that was repeated the later run counts.
    good: BTreeMap<u32, &'a Record>,
    all: Vec<&'a Record>,
    failed: usize,
    reason: Option<&'a str>,
}

/// A case's place in the tables.
type Key<'a> = (&'a str, &'a str, &'a str);

/// Analyses the records of a plan; those of runs by hand are passed over.
pub fn analyse(records: &[Record]) -> Analysis {
    let mut runs: BTreeMap<Key<'_>, Runs<'_>> = BTreeMap::new();
    let mut positions: Vec<&PlanPosition> = Vec::new();
    for record in records {
        let Some(position) = &record.plan else {
            continue;
        };
        let case = runs.entry(key(position)).or_insert_with(|| {
            positions.push(position);
            Runs::default()
        });
        case.add(position.round, record);
    }
    positions.sort_by_key(|p| p.index);
    let mut analysis = Analysis {
        tables: Vec::new(),
        records: runs.values().map(|r| r.all.len() + r.failed).sum(),
        warnings: crate::warnings::of(records),
    };
    for position in positions {
        let table = analysis.table(position);
        let cell = runs[&key(position)].cell(position, &runs);
        table.put(position, cell);
    }
    analysis
}

fn key(position: &PlanPosition) -> Key<'_> {
    (&position.section, &position.row, &position.column)
}

/// The runs of another row of the same section and column.
fn neighbour<'m>(
    runs: &'m BTreeMap<Key<'m>, Runs<'m>>,
    position: &'m PlanPosition,
    row: &'m Option<String>,
) -> Option<&'m Runs<'m>> {
    runs.get(&(&position.section, row.as_deref()?, &position.column))
}

impl Analysis {
    fn table(&mut self, position: &PlanPosition) -> &mut Table {
        let index = self.tables.iter().position(|t| t.title == position.section);
        let index = index.unwrap_or_else(|| {
            self.tables.push(Table {
                title: position.section.clone(),
                metric: position.metric,
                columns: Vec::new(),
                rows: Vec::new(),
            });
            self.tables.len() - 1
        });
        &mut self.tables[index]
    }
}

impl Table {
    fn put(&mut self, position: &PlanPosition, cell: Cell) {
        if !self.columns.contains(&position.column) {
            self.columns.push(position.column.clone());
            for row in &mut self.rows {
                row.cells.push(Cell::Absent);
            }
        }
        if !self.rows.iter().any(|row| row.name == position.row) {
            self.rows.push(Row {
                name: position.row.clone(),
                baseline: position.baseline.clone(),
                versus: position.versus.clone(),
                cells: vec![Cell::Absent; self.columns.len()],
            });
        }
        let column = self.columns.iter().position(|c| *c == position.column);
        let row = self.rows.iter_mut().find(|row| row.name == position.row);
        if let (Some(column), Some(row)) = (column, row) {
            row.cells[column] = cell;
        }
    }
}

impl<'a> Runs<'a> {
    fn add(&mut self, round: u32, record: &'a Record) {
        match &record.error {
            // What a run measured before it failed stays in the file, but it is no sample.
            Some(error) => {
                self.failed += 1;
                self.reason = Some(error);
            }
            None if record.partial => self.failed += 1,
            None => {
                self.good.insert(round, record);
                self.all.push(record);
            }
        }
    }

    fn cell(&self, position: &PlanPosition, runs: &BTreeMap<Key<'_>, Runs<'_>>) -> Cell {
        if self.all.is_empty() {
            return Cell::Failed(self.reason.unwrap_or("interrupted").to_owned());
        }
        let versus = neighbour(runs, position, &position.versus);
        if position.metric == Metric::Memory {
            return match memory::slopes(&self.all, versus.map(|v| &v.all[..])) {
                Some(slopes) => Cell::Memory(Box::new(slopes)),
                None => Cell::Failed("too few task counts for a slope".to_owned()),
            };
        }
        let metric = position.metric;
        let baseline = neighbour(runs, position, &position.baseline);
        let versus_baseline = versus.and_then(|versus| {
            let position = versus.all.first()?.plan.as_ref()?;
            neighbour(runs, position, &position.baseline)
        });
        match self.time(metric, baseline, versus, versus_baseline) {
            Some(time) => Cell::Time(Box::new(time)),
            None => Cell::Failed("the records hold no samples".to_owned()),
        }
    }

    fn time(
        &self,
        metric: Metric,
        baseline: Option<&Runs<'_>>,
        versus: Option<&Runs<'_>>,
        versus_baseline: Option<&Runs<'_>>,
    ) -> Option<Time> {
        let own = self.means(metric);
        let means: Vec<f64> = own.values().copied().collect();
        let net = baseline.map(|b| paired(&own, &b.means(metric), |a, b| a - b));
        let ratio = versus.and_then(|v| {
            let (a, b) = pairs(&own, &v.means(metric));
            Estimate::ratio(&a, &b, CONFIDENCE)
        });
        let net_ratio = net.as_ref().zip(versus).and_then(|(net, versus)| {
            let other = paired(
                &versus.means(metric),
                &versus_baseline?.means(metric),
                |a, b| a - b,
            );
            let (a, b) = pairs(net, &other);
            Estimate::ratio(&a, &b, CONFIDENCE)
        });
        let medians: Vec<f64> = self.each(metric, |s| s.p50 as f64).into_values().collect();
        let minima = self.each(metric, |s| s.min as f64);
        Some(Time {
            mean: Estimate::mean(&means, CONFIDENCE)?,
            median: stats::median(&medians)?,
            min: minima.into_values().reduce(f64::min)?,
            modes: stats::modes(&means),
            outliers: stats::tukey_outliers(&means).map_or(0, |o| o.total()),
            failed: self.failed,
            net: net.and_then(|net| {
                let net: Vec<f64> = net.into_values().collect();
                Estimate::mean(&net, CONFIDENCE)
            }),
            ratio,
            net_ratio,
        })
    }

    fn means(&self, metric: Metric) -> BTreeMap<u32, f64> {
        self.each(metric, |samples| samples.mean)
    }

    /// A figure of the iterations of each process, for each hop or task, by round.
    fn each(
        &self,
        metric: Metric,
        figure: impl Fn(&harness::recorder::Summary) -> f64,
    ) -> BTreeMap<u32, f64> {
        let value = |record: &Record| {
            let parts = match metric {
                Metric::Hop => record.hops?,
                Metric::Task | Metric::Memory => record.tasks()?,
            };
            Some(figure(record.samples.as_ref()?) / parts as f64)
        };
        self.good
            .iter()
            .filter_map(|(&round, record)| Some((round, value(record)?)))
            .collect()
    }
}

/// The values of the rounds that both have.
fn pairs(a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>) -> (Vec<f64>, Vec<f64>) {
    a.iter()
        .filter_map(|(round, &a)| Some((a, *b.get(round)?)))
        .unzip()
}

/// Combines the values of the rounds that both have.
fn paired(
    a: &BTreeMap<u32, f64>,
    b: &BTreeMap<u32, f64>,
    combine: impl Fn(f64, f64) -> f64,
) -> BTreeMap<u32, f64> {
    a.iter()
        .filter_map(|(round, &a)| Some((*round, combine(a, *b.get(round)?))))
        .collect()
}
