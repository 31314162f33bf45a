//! The law of the futex table, fitted to a machine's file `futex`: `wake = a + b · sleepers ÷ slots`.
//!
//! `a` is the median of all tables without sleepers. For each number of sleepers, `b` is fitted to every other table by
//! least squares of relative errors, and predicts the rest.

use anyhow::{Context, bail};
use contract::units::Quantity;
use serde_json::Value as Json;
use stats::{Estimate, Interval};
use switchcost::figures::grade::Grade;
use switchcost::figures::value::Value;

use crate::query::{self, Found, signed};
use crate::records::{File, Records};

/// Rows of the section `Tables`.
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
const DEFAULT: &str = "the kernel's default";
const SYSTEM: &str = "the system's table";

/// Numbers of sleepers, and their columns.
const SLEEPERS: [(u32, &str); 5] =
    [(64, "64"), (256, "256"), (1024, "1,024"), (4096, "4,096"), (16384, "16,384")];
/// The column without any.
const NOBODY_SLEEPS: &str = "0 idle";

/// Kinds of wake-up, by their sections.
const KINDS: [(&str, &str); 2] =
    [("nobody", "A wake-up of nobody"), ("thread", "A wake-up of a thread: time per hop")];
const COLD: &str = "A wake-up of a thread after";

/// A table with so many sleepers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    table: &'static str,
    sleepers: u32,
    /// Sleepers in a slot.
    pub(crate) x: f64,
    /// Time of a wake-up, in ns.
    pub(crate) y: f64,
    grade: Grade,
}

/// The law for one kind of wake-up and one number of sleepers.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) cells: Vec<Cell>,
    /// The time for each sleeper in the slot, in ns.
    b: Interval,
    grade: Grade,
    /// Cells that it predicts, each with its error as a share.
    predicted: Vec<(Cell, f64)>,
}

/// The law for one kind of wake-up.
pub(crate) struct Kind {
    name: &'static str,
    pub(crate) a: f64,
    grade: Grade,
    without: Vec<Cell>,
    pub(crate) lines: Vec<Line>,
}

/// The whole law.
pub(crate) struct Law {
    kinds: Vec<Kind>,
    /// `b` in the kernel's default table if the L2 cache holds other memory.
    cold: Vec<Value>,
    /// Switches per hop of all cells.
    switches: Vec<f64>,
    /// Times by benches/futex-table.c, divided by those of the runner.
    in_c: Vec<f64>,
    pub(crate) machine: String,
}

impl Kind {
    fn of(
        cells: &dyn Fn(u32, &str) -> anyhow::Result<Vec<Cell>>,
        name: &'static str,
    ) -> anyhow::Result<Self> {
        let without = cells(0, NOBODY_SLEEPS)?;
        let a = stats::median(&without.iter().map(|cell| cell.y).collect::<Vec<_>>());
        let a = a.context("no table was measured")?;
        let grade = worst(&without);
        let mut lines = Vec::new();
        for (sleepers, column) in SLEEPERS {
            lines.push(Line::of(column, cells(sleepers, column)?, a, grade)?);
        }
        Ok(Kind { name, a, grade, without, lines })
    }

    /// The time that the law says, in ns.
    pub(crate) fn at(&self, line: &Line, x: f64) -> f64 {
        self.a + line.b.estimate * x
    }
}

impl Line {
    fn of(name: &'static str, cells: Vec<Cell>, a: f64, grade: Grade) -> anyhow::Result<Self> {
        let every_other = |from: usize| cells.iter().skip(from).step_by(2).copied();
        let fitted: Vec<Cell> = every_other(0).collect();
        let weight: f64 = fitted.iter().map(|cell| (cell.x / cell.y).powi(2)).sum();
        let b =
            fitted.iter().map(|cell| cell.x * (cell.y - a) / cell.y.powi(2)).sum::<f64>() / weight;
        let error = |cell: &Cell| (a + b * cell.x) / cell.y - 1.0;
        let freedom = fitted.len() as f64 - 1.0;
        let residual = fitted.iter().map(|cell| error(cell).powi(2)).sum::<f64>() / freedom;
        let t = stats::t_critical(0.95, freedom).context("too few tables")?;
        let half = t * (residual / weight).sqrt();
        let (low, high) = (b - half, b + half);
        Ok(Line {
            name,
            b: Interval { estimate: b, low, high, n: fitted.len(), confidence: 0.95 },
            grade: grade.max(worst(&cells)),
            predicted: every_other(1).map(|cell| (cell, error(&cell))).collect(),
            cells,
        })
    }
}

/// Worst grade of some cells.
fn worst(cells: &[Cell]) -> Grade {
    cells.iter().map(|cell| cell.grade).max().unwrap_or_default()
}

impl Law {
    /// Fits it to the files `futex` and `futex-c` of a machine.
    pub(crate) fn of(records: &Records, machine: &str) -> anyhow::Result<Self> {
        let value =
            |path: String| match query::evaluate(&format!("{machine}/futex: {path}"), records)? {
                Found::Value(value) => Ok(value),
                Found::Text(text) => bail!("{text} is a text"),
            };
        let mut slots = Vec::new();
        for table in TABLES {
            slots.push(value(format!("Tables: slots / {table}"))?.estimate.value);
        }
        let mut kinds = Vec::new();
        let mut switches = Vec::new();
        for (name, section) in KINDS {
            let cells = |sleepers: u32, column: &str| {
                let tables = TABLES.iter().zip(&slots);
                let cells = tables.map(|(table, slots)| {
                    let value = value(format!("{section} / {table} / {column}"))?;
                    let x = f64::from(sleepers) / slots;
                    Ok(Cell { table, sleepers, x, y: value.estimate.value, grade: value.grade })
                });
                cells.collect()
            };
            kinds.push(Kind::of(&cells, name)?);
        }
        let (_, thread) = KINDS[1];
        for table in TABLES {
            for column in SLEEPERS.map(|(_, column)| column).into_iter().chain([NOBODY_SLEEPS]) {
                let switched = value(format!("{thread} / {table} / {column}: switches"))?;
                switches.push(switched.estimate.value);
            }
        }
        let mut cold = Vec::new();
        for (sleepers, column) in SLEEPERS {
            let cell = |column: &str| value(format!("{COLD} / {DEFAULT} / {column}"));
            let more = cell(column)?.less(&cell(NOBODY_SLEEPS)?);
            let more = more.map_err(|why| anyhow::anyhow!("cold: {why}"))?;
            cold.push(
                more.over(&Value::exact(f64::from(sleepers) / slots[8], None))
                    .map_err(anyhow::Error::msg)?,
            );
        }
        let File::Lines(lines) = records.get(&format!("{machine}/futex-c"))? else {
            bail!("{machine}/futex-c is no output of benches/futex-table.c")
        };
        let File::Figures { machine, .. } = records.get(&format!("{machine}/futex"))? else {
            bail!("{machine}/futex holds no figures")
        };
        let in_c = in_c(lines, &kinds)?;
        Ok(Law { kinds, cold, switches, in_c, machine: machine.clone() })
    }

    /// The law for a hop.
    pub(crate) fn of_hops(&self) -> &Kind {
        &self.kinds[1]
    }

    pub(crate) fn found(&self, path: &[&str]) -> anyhow::Result<Found> {
        let kind = |name: &str| {
            self.kinds.iter().find(|kind| kind.name == name).context("name nobody or thread")
        };
        let place = |n: &str| {
            let place = SLEEPERS.iter().position(|(sleepers, _)| sleepers.to_string() == n);
            place.with_context(|| format!("nothing was measured with {n} sleepers"))
        };
        let time = Some(Quantity::Time);
        let predicted =
            || self.kinds.iter().flat_map(|kind| kind.lines.iter().map(move |line| (kind, line)));
        let errors = |told: bool| {
            predicted().flat_map(move |(kind, line)| {
                let is_wanted = move |cell: &Cell| !told || line.b.estimate * cell.x > 0.1 * kind.a;
                line.predicted
                    .iter()
                    .filter(move |(cell, _)| is_wanted(cell))
                    .map(|(_, error)| *error)
            })
        };
        let is_near = |error: &f64| error.abs() <= 0.1;
        let near_in_c = |ratio: &&f64| (0.9..=1.1).contains(*ratio);
        Ok(Found::Value(match path {
            ["a", name] => {
                let kind = kind(name)?;
                let mut a = Value::exact(kind.a, time);
                a.grade = kind.grade;
                a
            }
            ["b", "cold", n] => self.cold[place(n)?].clone(),
            ["b", name, n] => {
                let line = &kind(name)?.lines[place(n)?];
                Value::estimated(Estimate::from(line.b), time, line.grade)
            }
            ["worst", name, n] => {
                let errors = kind(name)?.lines[place(n)?].predicted.iter().map(|(_, error)| *error);
                let worst = errors.max_by(|a, b| a.abs().total_cmp(&b.abs()));
                return Ok(Found::Text(signed(worst.context("nothing is predicted")?)));
            }
            ["within", which @ ("all" | "told")] => {
                Value::count(errors(*which == "told").filter(is_near).count() as f64)
            }
            ["predictions", which @ ("all" | "told")] => {
                Value::count(errors(*which == "told").count() as f64)
            }
            ["c within"] => Value::count(self.in_c.iter().filter(near_in_c).count() as f64),
            ["c cells"] => Value::count(self.in_c.len() as f64),
            ["c median"] => Value::exact(stats::median(&self.in_c).context("no cells")?, None),
            ["switches"] => {
                let ends = self
                    .switches
                    .iter()
                    .fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
                let interval = Interval {
                    estimate: ends.1,
                    low: ends.0,
                    high: ends.1,
                    n: self.switches.len(),
                    confidence: 1.0,
                };
                Value::estimated(Estimate::from(interval), None, Grade::Sure)
            }
            _ => bail!("the law has no such figure"),
        }))
    }
}

/// Cells by benches/futex-table.c, the median of its runs, divided by the runner's.
fn in_c(lines: &[Json], kinds: &[Kind]) -> anyhow::Result<Vec<f64>> {
    let mut ratios = Vec::new();
    for kind in kinds {
        let cells = kind.without.iter().chain(kind.lines.iter().flat_map(|line| &line.cells));
        for cell in cells.filter(|cell| cell.table != DEFAULT) {
            // The C file marks the table of the system.
            let table = match cell.table {
                SYSTEM => "512*".to_owned(),
                table => table.replace(" slots", "").replace(',', ""),
            };
            let own = lines.iter().find(|line| {
                line["kind"] == kind.name
                    && line["table"] == *table
                    && line["sleepers"] == cell.sleepers
            });
            let own = own.with_context(|| format!("the C file has no {}, {table}", kind.name))?;
            let times: Vec<f64> = serde_json::from_value(own["ns"].clone())?;
            ratios.push(stats::median(&times).context("no times")? / cell.y);
        }
    }
    Ok(ratios)
}
