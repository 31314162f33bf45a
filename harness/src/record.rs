//! One run's result: the only thing that goes over a wire or into a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::machine::{Build, Machine};
use crate::notes::Note;
use crate::recorder::Summary;
use crate::units::{Bytes, bytes};
use crate::usage::{Interference, Memory, Usage};

/// The version of this layout; it grows when the meaning of a field changes.
pub const SCHEMA: u32 = 1;

/// One run of one program, one JSON line. Times are in ns and sizes in bytes, unrounded; a figure
/// that the machine does not offer is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// The program's name.
    pub benchmark: String,
    /// Where the runner put this run in its plan; null for a run by hand.
    #[serde(default)]
    pub plan: Option<PlanPosition>,
    /// Every flag with its value, by its long name with underscores.
    pub params: Map<String, Value>,
    /// The command line as it was typed.
    pub command_line: Vec<String>,
    /// When the program started, in ms since 1970.
    pub started: u64,
    /// What was compiled, from what, by what.
    pub build: Build,
    /// Where it ran.
    pub machine: Machine,
    /// The async runtime, where there is one.
    #[serde(default)]
    pub runtime: Option<Runtime>,
    /// Whether fewer iterations were timed than asked for.
    #[serde(default)]
    pub partial: bool,
    /// One sample is one iteration.
    #[serde(default)]
    pub samples: Option<Summary>,
    /// How many hops an iteration has; null where nothing is handed over.
    #[serde(default)]
    pub hops: Option<u64>,
    /// Mean iteration divided by its hops.
    #[serde(default)]
    pub per_hop: Option<f64>,
    /// Mean iteration divided by its tasks and tokens: the original experiment's figure.
    #[serde(default)]
    pub per_task: Option<f64>,
    /// Other distributions that the program measured, by name.
    #[serde(default)]
    pub distributions: BTreeMap<String, Summary>,
    /// What the process used during the timed iterations.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// What others took from it in that time.
    #[serde(default)]
    pub interference: Option<Interference>,
    /// Hardware and kernel events of a second, untimed pass, by name; null where not counted.
    #[serde(default)]
    pub counters: Option<BTreeMap<String, u64>>,
    /// Memory before anything was built, and with every task alive and at rest.
    #[serde(default)]
    pub memory: Option<MemoryChange>,
    /// From the program's start to its first lap.
    #[serde(default)]
    pub setup: Option<u64>,
    /// From the end of the measurement to the last task's end.
    #[serde(default)]
    pub teardown: Option<u64>,
    /// What a reader should know before trusting the figures.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// Why the run failed, if it did.
    #[serde(default)]
    pub error: Option<String>,
}

/// Where a run stands in the runner's plan. It holds all that is needed to make the plan's tables
/// from the records alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanPosition {
    /// The title of the table.
    pub section: String,
    /// What the table shows of a record.
    pub metric: Metric,
    /// The row of the table.
    pub row: String,
    /// The column of the table.
    pub column: String,
    /// The row that is subtracted from this one in each round.
    pub baseline: Option<String>,
    /// The row that this one is divided by in each round.
    pub versus: Option<String>,
    /// The case's place in the plan, from 0: rows and columns are shown in this order.
    pub index: u32,
    /// The round, from 0.
    pub round: u32,
    /// How many runs of this round came before it.
    pub order: u32,
    /// The seed that the rounds were shuffled by.
    pub seed: u64,
}

/// What a table shows of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Time per hop.
    Hop,
    /// Time per task.
    Task,
    /// Bytes per task, as a slope over the number of tasks.
    Memory,
}

/// An async runtime as it was set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Such as `tokio`.
    pub name: String,
    /// Its exact version, if the build could tell.
    pub version: Option<String>,
    /// `multi-thread` or `current-thread`.
    pub flavor: String,
    /// How many threads run tasks.
    pub workers: u32,
}

/// Memory at two points of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryChange {
    /// Before anything was built.
    pub before: Memory,
    /// After the last iteration, with every task alive and waiting.
    pub at_rest: Option<Memory>,
}

impl Record {
    /// A numeric flag's value.
    pub fn param(&self, name: &str) -> Option<u64> {
        self.params.get(name)?.as_u64()
    }

    /// How many tasks it had.
    pub fn tasks(&self) -> Option<u64> {
        self.param("tasks")
    }

    /// A sentence for people about the memory that the tasks added, where it is known.
    pub fn memory_added(&self) -> Option<String> {
        let memory = self.memory?;
        let added = memory
            .at_rest?
            .resident?
            .checked_sub(memory.before.resident?)?;
        let tasks = self.tasks()?;
        Some(format!(
            "resident {}, of which the tasks added {} ({} per task)",
            Bytes(memory.at_rest?.resident?),
            Bytes(added),
            bytes(added as f64 / tasks as f64)
        ))
    }
}
