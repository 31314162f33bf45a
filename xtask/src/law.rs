//! The law of the futex table, fitted to a machine's file `futex`: `wake = a + b · sleepers ÷ slots`.
//!
//! `a` is the median of all tables without sleepers. For each number of sleepers, `b` is fitted to every other table by
//! least squares of relative errors, and predicts the rest.

use anyhow::{Context, bail};
use figures::grade::Grade;
use figures::value::Value;
use host::units::Quantity;
use stats::{Estimate, Interval};
use switchcost::render::plot::{self, Plot, Series};

use crate::found::{self, Found};
use crate::lookup;
use crate::records::{File, Records};

const DEFAULT: &str = "the kernel's default";
const SYSTEM: &str = "the system's table";

/// Tables, by their rows.
const TABLES: [&str; 10] = [
    "2 slots",
    "8 slots",
    "32 slots",
    "128 slots",
    "512 slots",
    "2,048 slots",
    "8,192 slots",
    "65,536 slots",
    DEFAULT,
    SYSTEM,
];

/// Numbers of sleepers, by their columns.
const SLEEPERS: [&str; 5] = ["64", "256", "1,024", "4,096", "16,384"];
const NOBODY_SLEEPS: &str = "0 idle";

/// Wake-ups of nobody and of a thread, by their sections.
const KINDS: [(&str, &str); 2] =
    [("nobody", "A wake-up of nobody"), ("thread", "A wake-up of a thread: time per hop")];

/// Largest relative error of a prediction that is counted as right.
const NEAR: f64 = 0.1;

/// Pieces of a curved line.
const STEPS: u32 = 40;

/// The file `futex` of a machine.
pub(crate) struct Law<'a> {
    pub(crate) records: &'a Records,
    pub(crate) machine: &'a str,
}

/// A wake-up with one table and one number of sleepers.
struct Cell {
    table: &'static str,
    x: f64,
    /// Its time, in ns.
    y: Value,
}

/// The law for one kind of wake-up and one number of sleepers.
struct Fit {
    a: f64,
    b: Interval,
    grade: Grade,
    cells: Vec<Cell>,
    /// Of each predicted cell the sleepers in a slot, and the relative error.
    predicted: Vec<(f64, f64)>,
}

impl Law<'_> {
    /// A figure of the law.
    pub(crate) fn figure(&self, path: &[&str]) -> anyhow::Result<Found> {
        let time = Some(Quantity::Time);
        Ok(Found::Value(match path {
            ["a", kind] => {
                let (a, grade) = self.a(kind)?;
                graded(Value::exact(a, time), grade)
            }
            ["b", kind, sleepers] => {
                let fit = self.fit(kind, sleepers)?;
                Value::estimated(Estimate::from(fit.b), time, fit.grade)
            }
            // The predictions that count (sleepers add more than a tenth of a), and how many of them are right.
            [what @ ("predictions" | "within")] => {
                let (mut count, mut grade) = (0, Grade::Sure);
                for fit in self.fits()? {
                    grade = grade.max(fit.grade);
                    let errors =
                        fit.predicted.iter().filter(|(x, _)| fit.b.estimate * x > 0.1 * fit.a);
                    let is_near = |error: f64| *what == "predictions" || error.abs() <= NEAR;
                    count += errors.filter(|(_, error)| is_near(*error)).count();
                }
                graded(Value::count(count as f64), grade)
            }
            ["switches"] => {
                let (mut switches, mut grade) = (Vec::new(), Grade::Sure);
                for table in TABLES {
                    for column in SLEEPERS.into_iter().chain([NOBODY_SLEEPS]) {
                        let path = format!("{} / {table} / {column}: switches", KINDS[1].1);
                        let value = self.value(&path)?;
                        switches.push(value.estimate.value);
                        grade = grade.max(value.grade);
                    }
                }
                let highest = stats::quantile(&switches, 1.0).context("no cells")?;
                graded(Value::exact(highest, None), grade)
            }
            ["c cells"] => Value::count(self.in_c()?.len() as f64),
            ["c within"] => {
                let near = self.in_c()?.into_iter().filter(|ratio| (ratio - 1.0).abs() <= NEAR);
                Value::count(near.count() as f64)
            }
            _ => bail!("the law has no such figure"),
        }))
    }

    /// A hop against the sleepers in a slot, with a line of the law for each number of sleepers.
    pub(crate) fn plot(&self) -> anyhow::Result<String> {
        let mut series = Vec::new();
        for sleepers in SLEEPERS {
            let fit = self.fit("thread", sleepers)?;
            let points = fit.cells.iter().map(|cell| (cell.x, cell.y.clone())).collect();
            let xs: Vec<f64> = fit.cells.iter().map(|cell| cell.x).collect();
            let ends = stats::quantile(&xs, 0.0).zip(stats::quantile(&xs, 1.0));
            let (first, last) = ends.context("no cells")?;
            let steps = (0..=STEPS).map(|k| f64::from(k) / f64::from(STEPS));
            let steps = steps.map(|share| first * (last / first).powf(share));
            let line = steps.map(|x| (x, fit.a + fit.b.estimate * x)).collect();
            series.push(Series { name: format!("{sleepers} sleepers"), points, line });
        }
        let mut plot = Plot::new(
            "A hop on one CPU, by the sleepers per slot",
            "Points: ten sizes of the table. Lines: the law, fitted to every second point.",
        );
        let file = self.records.get(&format!("{}/futex", self.machine))?;
        plot.note = file.machine().unwrap_or_default();
        let axes = ["sleepers ÷ slots", "time per hop"];
        Ok(plot::scatter(plot, axes, &series, Quantity::Time).file())
    }

    fn value(&self, path: &str) -> anyhow::Result<Value> {
        let File::Figures { figures, .. } = self.records.get(&format!("{}/futex", self.machine))?
        else {
            bail!("{}/futex is no record of a run", self.machine)
        };
        let path: Vec<&str> = path.split(" / ").collect();
        match lookup::of_figures(figures, &path)? {
            Found::Value(value) => Ok(value),
            Found::Text(text) => bail!("{}: {text}", path.join(" / ")),
        }
    }

    fn slots(&self, table: &str) -> anyhow::Result<f64> {
        Ok(self.value(&format!("Tables: slots / {table}"))?.estimate.value)
    }

    /// A kind of wake-up with so many sleepers in all tables.
    fn cells(&self, kind: &str, sleepers: &str) -> anyhow::Result<Vec<Cell>> {
        let section = KINDS.iter().find(|(name, _)| *name == kind);
        let (_, section) = section.context("name a wake-up of nobody or of a thread")?;
        let cell = |table: &'static str| {
            let value = self.value(&format!("{section} / {table} / {sleepers}"))?;
            let x = number(sleepers)? / self.slots(table)?;
            Ok(Cell { table, x, y: value })
        };
        TABLES.into_iter().map(cell).collect()
    }

    fn a(&self, kind: &str) -> anyhow::Result<(f64, Grade)> {
        let cells = self.cells(kind, NOBODY_SLEEPS)?;
        let times: Vec<f64> = cells.iter().map(|cell| cell.y.estimate.value).collect();
        Ok((stats::median(&times).context("no table was measured")?, worst(&cells)))
    }

    fn fit(&self, kind: &str, sleepers: &str) -> anyhow::Result<Fit> {
        Fit::of(self.a(kind)?, self.cells(kind, sleepers)?)
    }

    fn fits(&self) -> anyhow::Result<Vec<Fit>> {
        let pairs = KINDS.iter().flat_map(|(kind, _)| SLEEPERS.map(|sleepers| (kind, sleepers)));
        pairs.map(|(kind, sleepers)| self.fit(kind, sleepers)).collect()
    }

    /// Cells by benches/futex-table.c, the median of its runs, divided by the runner's.
    fn in_c(&self) -> anyhow::Result<Vec<f64>> {
        let File::Lines(lines) = self.records.get(&format!("{}/futex-c", self.machine))? else {
            bail!("futex-c is no output of benches/futex-table.c")
        };
        let mut ratios = Vec::new();
        for (kind, _) in KINDS {
            for column in SLEEPERS.into_iter().chain([NOBODY_SLEEPS]) {
                for cell in self.cells(kind, column)?.iter().filter(|cell| cell.table != DEFAULT) {
                    // The C file marks the system's table.
                    let mark = if cell.table == SYSTEM { "*" } else { "" };
                    let table = format!("{}{mark}", self.slots(cell.table)?);
                    let line = found::line(lines, |line| {
                        line["kind"] == kind
                            && line["table"] == *table
                            && line["sleepers"].as_f64() == number(column).ok()
                    })?;
                    let times: Vec<f64> = serde_json::from_value(line["ns"].clone())?;
                    ratios.push(stats::median(&times).context("no times")? / cell.y.estimate.value);
                }
            }
        }
        Ok(ratios)
    }
}

impl Fit {
    fn of((a, grade): (f64, Grade), cells: Vec<Cell>) -> anyhow::Result<Self> {
        let every_other = |from: usize| cells.iter().skip(from).step_by(2);
        let weight: f64 = every_other(0).map(|cell| (cell.x / cell.y.estimate.value).powi(2)).sum();
        let sum: f64 = every_other(0)
            .map(|cell| cell.x * (cell.y.estimate.value - a) / cell.y.estimate.value.powi(2))
            .sum();
        let b = sum / weight;
        let error = |cell: &Cell| (a + b * cell.x) / cell.y.estimate.value - 1.0;
        let n = every_other(0).count();
        let freedom = n as f64 - 1.0;
        let residual = every_other(0).map(|cell| error(cell).powi(2)).sum::<f64>() / freedom;
        let t = stats::t_critical(0.95, freedom).context("too few tables")?;
        let half = t * (residual / weight).sqrt();
        Ok(Fit {
            a,
            b: Interval { estimate: b, low: b - half, high: b + half, n, confidence: 0.95 },
            grade: grade.max(worst(&cells)),
            predicted: every_other(1).map(|cell| (cell.x, error(cell))).collect(),
            cells,
        })
    }
}

fn graded(mut value: Value, grade: Grade) -> Value {
    value.grade = grade;
    value
}

/// Worst grade of some cells.
fn worst(cells: &[Cell]) -> Grade {
    cells.iter().map(|cell| cell.y.grade).max().unwrap_or_default()
}

/// Number of sleepers of a column.
fn number(column: &str) -> anyhow::Result<f64> {
    let digits = column.trim_end_matches(" idle").replace(',', "");
    digits.parse().with_context(|| format!("'{column}' is no number of sleepers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_cell_is_fitted_as_by_scipy() {
        // scipy 1.17.1: x, y = np.array(CELLS)[::2].T; curve_fit(lambda x, b: 100 + b * x, x, y, sigma=y) gives b and its
        // variance v (not absolute); b ± t.ppf(0.975, 4) * sqrt(v)
        let cells = [
            [2.0, 121.0],
            [1.0, 90.0],
            [4.0, 139.0],
            [1.0, 110.0],
            [8.0, 185.0],
            [1.0, 110.0],
            [16.0, 255.0],
            [1.0, 110.0],
            [32.0, 430.0],
        ];
        let cell = |[x, y]: [f64; 2]| Cell { table: "", x, y: Value::exact(y, None) };
        let fit = Fit::of((100.0, Grade::Sure), Vec::from(cells.map(cell))).unwrap();
        let ends = [fit.b.estimate, fit.b.low, fit.b.high];
        let expected = [10.128445406, 9.635324597, 10.621566214];
        assert!(
            ends.iter().zip(expected).all(|(end, known)| (end - known).abs() < 1e-6),
            "{ends:?}"
        );
        assert!(fit.predicted.len() == 4 && fit.predicted[0].1 > fit.predicted[1].1);
    }
}
