//! A section of a plan, from TOML or from a sweep. It is a table; each of its rows is a cell in each of its columns.

use record::{
    Also, Command, Cpus, Effort, Metric, Place, Policy, Relation, Row, Setting, Side, Swept, Ties,
};
use serde::Deserialize;

use super::flag_values::FlagValues;

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    pub title: String,
    pub metric: Metric,
    /// Further metrics of the same record, as columns beside each of its own.
    #[serde(default)]
    pub also: Vec<Also>,
    /// Flag that its rows run over: their figures are curves.
    pub over: Option<FlagValues>,
    /// Number of rounds in place of the plan's; for a slope, of each task count.
    pub rounds: Option<u32>,
    /// Program of the rows that name none.
    pub program: Option<String>,
    /// Timed iterations of the rows that name none.
    pub iters: Option<u64>,
    /// Untimed iterations before them.
    pub warmup: Option<u64>,
    /// Further passes of its programs, which are run once, each a distribution of that name.
    #[serde(default)]
    pub passes: Vec<String>,
    /// Variants of every row.
    #[serde(rename = "column", default)]
    pub columns: Vec<Variant>,
    #[serde(rename = "row")]
    pub rows: Vec<RowTable>,
    /// Hops that each process times, about, in place of iterations.
    #[serde(skip)]
    pub hops: Option<u64>,
    /// True if events are counted in an extra, untimed run of each process, as `--counters` has it.
    #[serde(default)]
    pub counters: bool,
    /// True if its programs take no turns: each may take most of the machine.
    #[serde(default)]
    pub alone: bool,
}

/// What a row and a column both may say; a column, of every row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub name: String,
    /// The benchmark program: the rows name theirs, or the columns.
    pub program: Option<String>,
    /// Flags; the column's follow the row's.
    #[serde(default)]
    pub flags: Vec<String>,
    /// True if it is pinned to one CPU.
    #[serde(default)]
    pub pin: bool,
    /// Relation of the two CPUs that it may use.
    pub cpus: Option<Relation>,
    pub policy: Option<Policy>,
    /// True if its tasks are not held while their memory is read.
    #[serde(default)]
    pub skip_hold: bool,
    /// Pause at the beginning of its turns, in ms, in place of the untimed iterations.
    pub pause_ms: Option<u64>,
}

/// `[[section.row]]`: one thing to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowTable {
    /// What it has like a column.
    #[serde(flatten)]
    pub variant: Variant,
    /// Timed iterations in each process; the section's if it names none.
    pub iters: Option<u64>,
    /// Untimed iterations before them; the section's, or a tenth of the timed ones.
    pub warmup: Option<u64>,
    /// Task counts, for a slope over them; each is run three times.
    #[serde(default)]
    pub tasks: Vec<u32>,
    #[serde(flatten)]
    pub ties: Ties,
    /// True if each round has a second, equal process: how far two equal runs are apart.
    #[serde(default)]
    pub twin: bool,
}

/// How often each task count of a slope is run.
pub(super) const REPEATS_OF_A_COUNT: u32 = 3;

/// How many task counts a slope needs.
pub const COUNTS_OF_A_SLOPE: usize = 8;

impl Section {
    /// Gives its rows what they do not name, and a column that says nothing if there is none.
    pub(super) fn fill(&mut self) {
        if self.columns.is_empty() {
            self.columns.push(Variant::default());
        }
        for row in &mut self.rows {
            let program = &mut row.variant.program;
            *program = program.take().or_else(|| self.program.clone());
            row.iters = row.iters.or(self.iters);
            row.warmup = row.warmup.or(self.warmup);
        }
    }

    /// Its rows in the table's order; they run in so many rounds if the section does not say.
    pub(super) fn lowered(&self, rounds: Option<u32>) -> Vec<Row> {
        let cells =
            self.rows.iter().flat_map(|row| self.columns.iter().map(move |column| (row, column)));
        cells.flat_map(|(row, column)| self.points(row, self.row(row, column, rounds))).collect()
    }

    /// A row in a column.
    fn row(&self, row: &RowTable, column: &Variant, rounds: Option<u32>) -> Row {
        let variant = &row.variant;
        let iters = row.iters.unwrap_or(0);
        let cpus = column.cpus.or(variant.cpus).map(Cpus::Related);
        let first = (variant.pin || column.pin).then_some(Cpus::First);
        Row {
            place: Place {
                section: self.title.clone(),
                row: variant.name.clone(),
                setting: None,
                column: column.name.clone(),
                metric: self.metric.clone(),
                x: None,
                side: Side::A,
            },
            also: self.also.clone(),
            swept: self.over.as_ref().map(|over| Swept { flag: over.flag.clone() }),
            command: Command {
                // One of them has it.
                program: variant
                    .program
                    .as_ref()
                    .or(column.program.as_ref())
                    .cloned()
                    .unwrap_or_default(),
                flags: [&variant.flags[..], &column.flags].concat(),
                setting: Setting {
                    cpus: first.or(cpus),
                    policy: column.policy.or(variant.policy),
                    ..Setting::default()
                },
            },
            effort: Effort {
                iters,
                warmup: row.warmup.unwrap_or(iters.div_ceil(10)),
                hops: self.hops,
                passes: self.passes.clone(),
                rounds: self.rounds.or(rounds),
                counters: self.counters,
                skip_hold: variant.skip_hold || column.skip_hold,
                alone: self.alone,
                pause_ms: column.pause_ms.or(variant.pause_ms),
            },
            ties: row.ties.clone(),
        }
    }

    /// The points of a cell, each behind its twin.
    fn points(&self, table: &RowTable, row: Row) -> Vec<Row> {
        let points: Vec<Row> = if let Some(over) = &self.over {
            over.values.iter().map(|&x| row.at(&over.flag, x, &over.unit)).collect()
        } else if table.tasks.is_empty() {
            vec![row]
        } else {
            let rounds = Some(self.rounds.unwrap_or(REPEATS_OF_A_COUNT));
            let row = Row { effort: Effort { rounds, ..row.effort }, ..row };
            table.tasks.iter().map(|&tasks| row.at("--tasks", tasks.into(), "")).collect()
        };
        // The points of a slope show its noise.
        let has_twin = table.twin && !self.metric.is_slope();
        let mut rows = Vec::new();
        for row in points {
            rows.extend(has_twin.then(|| Row { place: row.place.on(Side::Twin), ..row.clone() }));
            rows.push(row);
        }
        rows
    }
}
