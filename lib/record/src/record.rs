//! A results file: one line per run, and below it one line per row, group and process.

use std::ops::Deref;
use std::sync::Arc;
use std::time::SystemTime;

use contract::message::{Claim, Extra, Runtime, Usage, is_one, one, positive, positive_if_known};
use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::{
    Account, Build, Case, Counters, Machine, MemoryChange, Plan, Samples, Section, Slice, Waits,
};

/// Version of the layout of a results file.
pub const SCHEMA: u32 = 3;

/// End of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<'a> {
    /// It measured, as far as it was not interrupted.
    Measured,
    /// It failed, for this reason.
    Failed(&'a str),
    /// It was not tried, for this reason.
    NotRun(&'a str),
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A [`Run`].
    Run,
    /// A [`Row`].
    Row,
    /// A [`Group`].
    Group,
    /// A [`Process`].
    #[default]
    Process,
}

/// Header of a run: all that its processes share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: u32,
    /// [`Kind::Run`].
    pub kind: Kind,
    /// Identity of the run, which each of its lines repeats.
    pub id: u64,
    /// Start of the run, in ms since 1970.
    pub started: u64,
    /// Command line of the runner, without its own name.
    pub command: String,
    /// Seed that the rounds were shuffled by.
    pub seed: u64,
    /// Machine that it ran on.
    #[serde(serialize_with = "without_nulls")]
    pub machine: Machine,
    /// Build of the programs.
    #[serde(serialize_with = "without_nulls")]
    pub build: Build,
    /// Cases that it was made of.
    pub plan: Plan,
    /// Both sides, if it is a duel: what each is called and what it was built from, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<[String; 2]>,
    /// Largest change that counts as none, as a share, if it is a duel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

/// Side of a duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Side {
    /// The first one.
    A,
    /// The second one.
    B,
}

impl Run {
    /// The header of a run that begins now.
    pub fn begin(command: String, seed: u64, machine: Machine, build: Build, plan: Plan) -> Self {
        let now = milliseconds(SystemTime::now());
        Run {
            schema: SCHEMA,
            kind: Kind::Run,
            id: now,
            started: now,
            command,
            seed,
            machine,
            build,
            plan,
            sides: None,
            margin: None,
        }
    }
}

/// A command, and what its program says about it: what all its processes share. If the command was not started, or failed
/// before it described itself, less is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// [`Kind::Row`].
    pub kind: Kind,
    /// Identity of its run.
    pub run: u64,
    /// Its number in the run; processes refer to it.
    pub row: u32,
    /// Place of its case in the plan.
    pub case: u32,
    /// True for the second of two equal processes per round, which show how large the noise is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub twin: bool,
    /// Side of a duel; a twin belongs to the first side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// Value of the flag that is swept; times in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<u64>,
    /// Name of the program.
    pub program: String,
    /// Its flags.
    pub args: Vec<String>,
    /// CPUs that it was restricted to, as a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Scheduling policy that it was started with, if that is not the runner's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// What else it was started with: environment, wrapper, timer slack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Number of tasks.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "positive_if_known"
    )]
    pub tasks: Option<u64>,
    /// Tokens in flight, in each chain.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "positive")]
    pub tokens: u64,
    /// Chains of so many tasks that work at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "positive")]
    pub chains: u64,
    /// Round trips that each token makes in an iteration.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "positive")]
    pub trips: u64,
    /// Hops per iteration; absent if nothing is handed over.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "positive_if_known"
    )]
    pub hops: Option<u64>,
    /// Arrivals in an iteration, each of all tasks, if a sample is a latency of theirs.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "positive_if_known"
    )]
    pub arrivals: Option<u64>,
    /// Bytes that an iteration hands over, end to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Nature of a hop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Async runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
}

impl Row {
    /// A row before its program has described itself.
    pub fn of(program: &str, args: Vec<String>) -> Self {
        let program = program.to_owned();
        Row { kind: Kind::Row, program, args, tokens: 1, chains: 1, trips: 1, ..Row::default() }
    }

    /// Tokens that come out in an iteration: of all chains, each as often as it makes a round trip.
    pub fn sent(&self) -> f64 {
        [self.tokens, self.chains, self.trips].map(|n| n as f64).iter().product()
    }

    /// Number and name of what a sample is of: hops, a request, or tasks if nothing is handed over.
    pub fn repeats(&self) -> Option<(u64, &'static str)> {
        match (self.hops, self.arrivals) {
            (Some(hops), _) => Some((hops, "hop")),
            (None, Some(_)) => Some((1, "request")),
            (None, None) => Some((self.tasks?, "task")),
        }
    }

    /// The same for so many iterations together, with all of their requests.
    fn all_of(&self, iterations: u64) -> Option<(u64, &'static str)> {
        let (repeats, unit) = self.repeats()?;
        let all = repeats.checked_mul(self.arrivals.unwrap_or(1))?.checked_mul(iterations)?;
        (all > 0).then_some((all, unit))
    }
}

/// Processes that took turns, and what happened to their CPUs meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// [`Kind::Group`].
    pub kind: Kind,
    /// Identity of its run.
    pub run: u64,
    /// Its number in the run; processes refer to it.
    pub group: u32,
    /// End of the last turn, in ms since 1970.
    pub ended: u64,
    /// CPU time of the CPUs in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// What kept the group waiting.
    pub waits: Waits,
}

/// One process of a run. Times are in ns and sizes in bytes, unrounded; what is unknown is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// [`Kind::Process`].
    pub kind: Kind,
    /// Identity of its run.
    pub run: u64,
    /// Number of its row.
    pub row: u32,
    /// Number of its group; absent if it took no turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Round, from 0.
    pub round: u32,
    /// Start, in ms since 1970.
    pub started: u64,
    /// Timed iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
    /// CPU time, switches and faults of the timed iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Its turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slice>,
    /// Moves of its threads between CPUs meanwhile; absent if nothing is handed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// Interrupts from one CPU to another during its turns, of the whole system; absent if it had one CPU. The wake-up of
    /// a thread on an idle CPU is one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<u64>,
    /// Memory before the process and with all tasks at rest, if its section shows memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryChange>,
    /// Events of a further, untimed run (`--counters`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// From the start of building until all tasks ran; this and the next two only if the section shows one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_ns: Option<u64>,
    /// The very first iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ns: Option<u64>,
    /// From the start of taking down until the last task was joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teardown_ns: Option<u64>,
    /// Other distributions that the program measured.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
    /// It was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Names of processes that it, or one alive beside it, left running; the runner ended them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<String>,
    /// Cause of its failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Reason for which it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// End of its standard error, if it failed and said more than one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

impl Process {
    /// A process that starts now.
    pub fn begin() -> Self {
        Process { started: milliseconds(SystemTime::now()), ..Process::default() }
    }

    /// How it ended.
    pub fn outcome(&self) -> Ending<'_> {
        match (&self.not_run, &self.error) {
            (Some(reason), _) => Ending::NotRun(reason),
            (None, Some(error)) => Ending::Failed(error),
            (None, None) => Ending::Measured,
        }
    }

    /// True if it measured all that it should, and is a sample.
    pub fn is_whole(&self) -> bool {
        self.outcome() == Ending::Measured && !self.partial
    }
}

/// A process together with what it shares with others.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Header of its run.
    pub header: Arc<Run>,
    /// Its command.
    pub row: Arc<Row>,
    /// The group in which it took turns.
    pub group: Option<Arc<Group>>,
    /// The process itself.
    pub process: Process,
}

impl Deref for Record {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl Record {
    /// CPUs that the process could use; those online if nothing tells.
    pub fn cpu_count(&self) -> Option<usize> {
        let machine = self.machine();
        let lists = [&self.row.cpus, &machine.affinity, &machine.cpus_online];
        let list = lists.into_iter().find_map(Option::as_ref)?;
        Some(crate::machine::cpu_list(list)?.len())
    }

    /// Machine of its run.
    pub fn machine(&self) -> &Machine {
        &self.header.machine
    }

    /// Its place in the plan; `None` if the plan has no such case.
    pub fn place(&self) -> Option<Place<'_>> {
        let (section, case) = self.header.plan.get(self.row.case)?;
        Some(Place { section, case, index: self.row.case })
    }

    /// Number and name of what all timed iterations are of: see [`Row::repeats`].
    pub fn timed(&self) -> Option<(u64, &'static str)> {
        self.row.all_of(self.samples.as_ref()?.count)
    }

    /// The same for the iterations in which events were counted.
    pub fn counted(&self) -> Option<(u64, &'static str)> {
        self.row.all_of(self.counters.as_ref()?.iterations)
    }

    /// Interrupts between CPUs per hop or task; of the whole system.
    pub fn wakeup_interrupts(&self) -> Option<f64> {
        Some(self.interrupts? as f64 / self.timed()?.0 as f64)
    }
}

/// Place of a process in the plan of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// Table.
    pub section: &'a Section,
    /// Cell.
    pub case: &'a Case,
    /// Number of the cell, from 0.
    pub index: u32,
}

/// Leaves out what is unknown.
fn without_nulls<S: Serializer>(facts: &impl Serialize, to: S) -> Result<S::Ok, S::Error> {
    fn drop_nulls(value: &mut Value) {
        let Value::Object(fields) = value else { return };
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
    let mut value = serde_json::to_value(facts).map_err(S::Error::custom)?;
    drop_nulls(&mut value);
    value.serialize(to)
}

/// A point of time in ms since 1970.
pub fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}
