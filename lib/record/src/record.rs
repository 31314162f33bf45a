//! A results file: one line per run, and below it one line per group and trial.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::SystemTime;

use contract::message::{Description, Extra, Usage};
use serde::{Deserialize, Serialize};

use crate::{Account, Build, Counters, Machine, MemoryChange, Row, Samples, Slice, Thirds, Waits};

/// Version of the layout of a results file.
pub const SCHEMA: u32 = 4;

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It was not tried: this machine or the time does not allow it, or there is nothing to compare it with.
    LeftOut(String),
    /// It was tried, and failed or was interrupted.
    Failed(String),
}

impl Why {
    /// What became of it, in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Why::LeftOut(_) => "not run",
            Why::Failed(_) => "failed",
        }
    }

    /// The reason.
    pub fn text(&self) -> &str {
        let (Why::LeftOut(text) | Why::Failed(text)) = self;
        text
    }

    /// The first line of the reason.
    pub fn first_line(&self) -> &str {
        self.text().lines().next().unwrap_or_default()
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Header of a run: all that its trials share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "run")]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Identity of the run, which each of its lines repeats.
    pub id: u64,
    /// Start of the run, in ms since 1970.
    pub started: u64,
    /// Command line of the runner, without its own name.
    pub command: String,
    /// Seed that the rounds were shuffled by.
    pub seed: u64,
    pub machine: Machine,
    pub build: Build,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What its figures do not show, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its rows in the plan's order, on the CPUs that they had; a trial names its own by its place here.
    pub rows: Vec<Row>,
    /// True if the turns of its programs began with untimed iterations. Older runs and duels timed what follows a pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steady: bool,
    /// Both sides, if it is a duel: what each is called and what it was built from, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<[String; 2]>,
    /// Largest change that counts as none, as a share, if it is a duel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

/// Processes that took turns, and what happened to their CPUs meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "group")]
pub struct Group {
    pub run: u64,
    /// Its number in the run; trials refer to it.
    pub group: u32,
    /// End of the last turn, in ms since 1970.
    pub ended: u64,
    /// CPU time of the CPUs in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    pub waits: Waits,
}

/// What one process did. Times are in ns and sizes in bytes, unrounded; what is unknown is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "trial")]
pub struct Trial {
    pub run: u64,
    /// Position of its row in [`Run::rows`].
    pub row: u32,
    /// What the program says of its command line; absent if the row's trial above says the same. In a [`Record`] it is
    /// absent: see [`Record::said`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// Number of its group; absent if it took no turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Round, from 0.
    pub round: u32,
    /// Start, in ms since 1970.
    pub started: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
    /// Beginning and end of its turns; absent if these have fewer than three iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thirds: Option<Thirds>,
    /// Length and checksum of what the timed runs of a command put out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// True if the peak memory of its runs is that of what started them: theirs is at most that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub peak_is_bound: bool,
    /// CPU time, switches and faults of the timed iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slice>,
    /// Moves of its threads between CPUs meanwhile; absent if nothing is handed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// Interrupts from one CPU to another during its turns, of the whole system; absent if it had one CPU. The wake-up
    /// of a thread on an idle CPU is one of them.
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Names of processes that it, or one alive beside it, left running; the runner ended them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Reason for which it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// End of its standard error, if it failed and said more than one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

impl Trial {
    /// A trial that begins now.
    pub fn begin() -> Self {
        Trial { started: now(), ..Trial::default() }
    }

    /// Why it has no figure; `None` if it measured, as far as it was not interrupted.
    pub fn why(&self) -> Option<Why> {
        let left_out = self.not_run.clone().map(Why::LeftOut);
        left_out.or_else(|| self.error.clone().map(Why::Failed))
    }

    /// True if it measured all that it should, and is a sample.
    pub fn is_whole(&self) -> bool {
        self.not_run.is_none() && self.error.is_none() && !self.partial
    }
}

/// A trial together with what it shares with others.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub header: Arc<Run>,
    /// What its program says of its command line; `None` if it never said it.
    pub said: Option<Arc<Description>>,
    pub group: Option<Arc<Group>>,
    pub trial: Trial,
    /// True if it was given several times; it counts once.
    pub is_repeated: bool,
}

impl Deref for Record {
    type Target = Trial;

    fn deref(&self) -> &Trial {
        &self.trial
    }
}

impl Record {
    /// A trial with what it shares with others.
    pub fn new(
        header: Arc<Run>,
        said: Option<Arc<Description>>,
        group: Option<Arc<Group>>,
        trial: Trial,
    ) -> Self {
        Record { header, said, group, trial, is_repeated: false }
    }

    /// Its row.
    pub fn row(&self) -> &Row {
        &self.header.rows[self.trial.row as usize]
    }

    /// Machine of its run.
    pub fn machine(&self) -> &Machine {
        &self.header.machine
    }

    /// Its session: start and seed of its run.
    pub fn session(&self) -> (u64, u64) {
        (self.trial.run, self.header.seed)
    }

    /// Number of CPUs that the process could use.
    pub fn cpu_count(&self) -> Option<usize> {
        match self.row().command.setting.cpu_list() {
            Some(cpus) => Some(cpus.len()),
            None => Some(self.machine().usable()?.len()),
        }
    }

    /// Number of tasks in each chain.
    pub fn tasks(&self) -> Option<u64> {
        Some(self.said.as_ref()?.tasks)
    }

    /// Chains that work at the same time.
    pub fn chains(&self) -> u64 {
        self.said.as_ref().map_or(1, |said| said.chains)
    }

    /// True if its iterations are runs of a command, each in a fresh process.
    pub fn is_of_runs(&self) -> bool {
        self.said.as_ref().is_some_and(|said| said.fresh)
    }

    /// Hops per iteration; `None` if nothing is handed over.
    pub fn hops(&self) -> Option<u64> {
        self.said.as_ref()?.hops
    }

    /// Requests per iteration of an open loop.
    pub fn arrivals(&self) -> Option<u64> {
        self.said.as_ref()?.arrivals
    }

    /// Tokens that come out in an iteration: of all chains, each as often as it makes a round trip.
    pub fn sent(&self) -> f64 {
        let numbers = self.said.as_ref().map(|said| [said.tokens, said.chains, said.trips]);
        numbers.unwrap_or([1; 3]).map(|n| n as f64).iter().product()
    }

    /// Number and name of what a sample is of: hops, a request, or tasks if nothing is handed over.
    pub fn repeats(&self) -> Option<(u64, &'static str)> {
        if self.is_of_runs() {
            return Some((self.tasks()?, "run"));
        }
        match (self.hops(), self.arrivals()) {
            (Some(hops), _) => Some((hops, "hop")),
            (None, Some(_)) => Some((1, "request")),
            (None, None) => Some((self.tasks()?, "task")),
        }
    }

    /// The same for so many iterations together, with all of their requests.
    fn all_of(&self, iterations: u64) -> Option<(u64, &'static str)> {
        let (repeats, unit) = self.repeats()?;
        let count = repeats.checked_mul(self.arrivals().unwrap_or(1))?.checked_mul(iterations)?;
        (count > 0).then_some((count, unit))
    }

    /// Number and name of what all timed iterations are of.
    pub fn timed(&self) -> Option<(u64, &'static str)> {
        self.all_of(self.samples.as_ref()?.count)
    }

    /// The same for the iterations in which events were counted.
    pub fn counted(&self) -> Option<(u64, &'static str)> {
        self.all_of(self.counters.as_ref()?.iterations)
    }

    /// Events of these names per hop, request or task; `None` if none of them was counted.
    pub fn counted_each(&self, names: &[&str]) -> Option<f64> {
        let events = &self.counters.as_ref()?.events;
        let counts = names.iter().filter_map(|&name| events.get(name));
        let sum = counts.copied().reduce(u64::saturating_add)?;
        Some(sum as f64 / self.counted()?.0 as f64)
    }

    /// Calls by which an event loop asks the kernel what is ready, likewise.
    pub fn waits(&self) -> Option<f64> {
        self.counted_each(&["epoll_waits", "io_uring_enters"])
    }

    /// Interrupts between CPUs per hop or task; of the whole system.
    pub fn wakeup_interrupts(&self) -> Option<f64> {
        Some(self.interrupts? as f64 / self.timed()?.0 as f64)
    }
}

/// Hops or requests that an event loop finds in each wait, by its waits for each; `None` if it is no event loop, but a
/// timer or a worker that goes to sleep.
pub fn per_wait(waits: f64) -> Option<f64> {
    (waits > 0.0005).then(|| 1.0 / waits)
}

/// Each record once, and all records of a run together: files may repeat lines, or mix the lines of several runs.
pub fn once(records: impl IntoIterator<Item = Record>) -> Vec<Record> {
    let mut runs: Vec<Vec<Record>> = Vec::new();
    let mut known = HashMap::new();
    for mut record in records {
        let mut headers = runs.iter().map(|run| &run[0].header);
        let place = headers
            .position(|header| Arc::ptr_eq(header, &record.header) || *header == record.header)
            .unwrap_or(runs.len());
        if place == runs.len() {
            runs.push(Vec::new());
        }
        let run = &mut runs[place];
        if let Some(first) = run.first() {
            record.header = Arc::clone(&first.header);
        }
        // What failed may have been tried again in its round.
        let key = (place, record.trial.row, record.round, record.started);
        let earlier = *known.entry(key).or_insert(run.len());
        match run.get_mut(earlier).filter(|earlier| earlier.trial == record.trial) {
            Some(earlier) => earlier.is_repeated = true,
            None => run.push(record),
        }
    }
    runs.into_iter().flatten().collect()
}

/// The time in ms since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}
