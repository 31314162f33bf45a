//! One run's result: the only thing that goes over a wire or into a file.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cache_line::CacheLine;
use crate::counters::Counters;
use crate::file_system::FileSystem;
use crate::machine::{Build, Machine};
use crate::notes::Note;
use crate::recorder::Summary;
use crate::usage::{Interference, Memory, Usage};
use crate::waits::Waits;
use crate::workers::Workers;

mod metric;

pub use metric::{Metric, Quantity};

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
    /// The very first iteration, warm-ups included: it finds the tasks' memory as set-up left it.
    #[serde(default)]
    pub first_iteration: Option<u64>,
    /// Other distributions that the program measured, by name.
    #[serde(default)]
    pub distributions: BTreeMap<String, Summary>,
    /// What the process used from the first timed iteration to the end of the last, with all that
    /// lies between them: for the creation programs, the joins.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// How often its own event loop entered the kernel in the timed iterations, and what it found
    /// there; null where there is no such loop, or a runtime does not tell.
    #[serde(default)]
    pub waits: Option<Waits>,
    /// What the workers of a runtime with several threads did in the timed iterations; null where
    /// there are none, or it does not tell.
    #[serde(default)]
    pub workers: Option<Workers>,
    /// How many bytes an iteration hands over, end to end; null where that is not what is measured.
    #[serde(default)]
    pub payload: Option<u64>,
    /// The largest number of tasks that were alive at once, spawned and not yet ended, in any
    /// iteration, warm-ups included. Null where that was not counted.
    #[serde(default)]
    pub peak_alive: Option<u64>,
    /// The largest number of threads that the process had at once besides its main one. Null where
    /// that was not counted, or /proc cannot be read.
    #[serde(default)]
    pub peak_threads: Option<u64>,
    /// The largest resident set of the process so far, when it ended (VmHWM in proc_pid_status(5));
    /// where `peak_alive` is known, when its last iteration did.
    #[serde(default)]
    pub peak_resident: Option<u64>,
    /// The main thread's timer slack when it ended, in ns (prctl(2), PR_GET_TIMERSLACK): how much later than asked
    /// a sleeping thread may wake.
    #[serde(default)]
    pub timer_slack: Option<u64>,
    /// The file system of the folder that bodies are kept in; null where none is.
    #[serde(default)]
    pub file_system: Option<FileSystem>,
    /// What others took from it in that time.
    #[serde(default)]
    pub interference: Option<Interference>,
    /// What was counted in a second, untimed pass; null where none was asked for.
    #[serde(default)]
    pub counters: Option<Counters>,
    /// What it takes to cross from one CPU to another; null where the run is on one CPU.
    #[serde(default)]
    pub cache_line: Option<CacheLine>,
    /// Memory before anything was built, and with every task alive and at rest.
    #[serde(default)]
    pub memory: Option<MemoryChange>,
    /// From the check of the limits to the first lap; for the creation programs, from the creation of
    /// the tasks that stay alive until each of them has run.
    #[serde(default)]
    pub setup: Option<u64>,
    /// From the end of the measurement to the last task's end.
    #[serde(default)]
    pub teardown: Option<u64>,
    /// Slots of the process's table of threads that sleep in futex(2), with every task at rest; 0
    /// for the whole system's table, null where the kernel does not tell.
    #[serde(default)]
    pub futex_slots: Option<u32>,
    /// What a reader should know before trusting the figures.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// Why the run failed, if it did.
    #[serde(default)]
    pub error: Option<String>,
}

/// Where a run stands in the runner's plan. It holds all that is needed to make the plan's tables
/// from the records alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanPosition {
    /// The title of the table.
    pub section: String,
    /// What the table shows of a record.
    pub metric: Metric,
    /// What it shows of the same record besides, in further columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// The row of the table.
    pub row: String,
    /// The column of the table.
    pub column: String,
    /// The row that is subtracted from this one in each round.
    pub baseline: Option<String>,
    /// The row that this one is divided by in each round.
    pub versus: Option<String>,
    /// The flag that is swept, without its dashes: the record's params have its value. Null where
    /// the case is a cell of a table and not a point of a curve.
    #[serde(default)]
    pub over: Option<String>,
    /// Whether this is the second of two equal runs of a round, made to learn the noise.
    #[serde(default)]
    pub twin: bool,
    /// The case's place in the plan, from 0: rows and columns are shown in this order.
    pub index: u32,
    /// The round, from 0.
    pub round: u32,
    /// How many runs of this round came before it.
    pub order: u32,
    /// The seed that the rounds were shuffled by.
    pub seed: u64,
    /// What tells this run of the plan from others: when it began, in ms since 1970.
    #[serde(default)]
    pub run: u64,
    /// The runner's command line, without its own name.
    #[serde(default)]
    pub command: Option<String>,
}

impl PlanPosition {
    /// The case's name for people.
    pub fn name(&self) -> String {
        match self.column.as_str() {
            "" => self.row.clone(),
            column => format!("{}, {column}", self.row),
        }
    }
}

/// A further column of a section: another metric of the same runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Also {
    /// Its heading.
    pub name: String,
    /// What it shows of a record.
    pub metric: Metric,
}

impl Also {
    /// Its heading beside the column that it belongs to.
    pub fn heading(&self, column: &str) -> String {
        match column {
            "" => self.name.clone(),
            column => format!("{column}: {}", self.name),
        }
    }
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
    /// A record with nothing measured yet.
    pub fn empty(benchmark: &str, command_line: Vec<String>) -> Self {
        Record {
            schema: SCHEMA,
            benchmark: benchmark.to_owned(),
            plan: None,
            params: Map::new(),
            command_line,
            started: milliseconds(SystemTime::now()),
            build: Build::default(),
            machine: Machine::default(),
            runtime: None,
            partial: true,
            samples: None,
            hops: None,
            per_hop: None,
            per_task: None,
            first_iteration: None,
            distributions: BTreeMap::new(),
            usage: None,
            waits: None,
            workers: None,
            payload: None,
            peak_alive: None,
            peak_threads: None,
            peak_resident: None,
            timer_slack: None,
            file_system: None,
            interference: None,
            counters: None,
            cache_line: None,
            memory: None,
            setup: None,
            teardown: None,
            futex_slots: None,
            notes: Vec::new(),
            error: None,
        }
    }

    /// A numeric flag's value.
    pub fn param(&self, name: &str) -> Option<u64> {
        self.params.get(name)?.as_u64()
    }

    /// How many tasks it had.
    pub fn tasks(&self) -> Option<u64> {
        self.param("tasks")
    }

    /// How many tokens were in flight.
    pub fn tokens(&self) -> u64 {
        self.param("tokens").unwrap_or(1)
    }

    /// What is done over and over in an iteration, and how often: hops, or tasks where nothing is
    /// handed over.
    pub fn repeats(&self) -> Option<(u64, &'static str)> {
        match self.hops {
            Some(hops) => Some((hops, "hop")),
            None => Some((self.tasks()?, "task")),
        }
    }

    /// How many times that was done in the pass that was counted.
    pub fn counted(&self) -> Option<(u64, &'static str)> {
        let (repeats, what) = self.repeats()?;
        let all = repeats.checked_mul(self.counters.as_ref()?.iterations)?;
        (all > 0).then_some((all, what))
    }

    /// Interrupts between CPUs for each of the same in the timed iterations; of the whole system.
    pub fn wakeup_interrupts(&self) -> Option<f64> {
        let all = self
            .repeats()?
            .0
            .checked_mul(self.samples.as_ref()?.count)?;
        let interrupts = self.interference?.wakeup_interrupts?;
        (all > 0).then(|| interrupts as f64 / all as f64)
    }

    /// How much resident memory the process has gained from its start until every task is at
    /// rest, in bytes: the tasks' and the program's own.
    pub fn resident_gain(&self) -> Option<u64> {
        let memory = self.memory?;
        memory
            .at_rest?
            .resident?
            .checked_sub(memory.before.resident?)
    }

    /// By how much the largest resident set of the process exceeds that of the empty process, in bytes.
    pub fn peak_gain(&self) -> Option<u64> {
        self.peak_resident?
            .checked_sub(self.memory?.before.resident?)
    }

    /// The kernel memory that the system has gained when the tasks are at rest, in bytes, as far as it
    /// follows their number. Others may have given back more meanwhile: it can be negative.
    pub fn kernel_gain(&self) -> Option<f64> {
        let memory = self.memory?;
        Some(memory.at_rest?.kernel()? - memory.before.kernel()?)
    }

    /// The memory that the process and the kernel together have gained when the tasks are at rest, in
    /// bytes.
    pub fn system_gain(&self) -> Option<f64> {
        let memory = self.memory?;
        let user = memory.at_rest?.resident? as f64 - memory.before.resident? as f64;
        Some(user + self.kernel_gain()?)
    }
}

/// A point of time as ms since 1970.
pub fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_millis() as u64)
}
