//! The lines that a program and its runner exchange: docs/CONTRACT.md, as types.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::ClockId;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::flags::Flags;
pub use crate::request::{MOST_SAMPLES, Request};
pub use crate::runs::{Runs, VARYING};
use host::units::Quantity;
pub use limits::{Need, Needs};

/// Version of the contract.
pub const VERSION: u32 = 1;

/// Most processes that a program may name: the runner looks at each of them.
pub const MOST_PROCESSES: usize = 10_000;

/// Upper bound of the time that untimed iterations after a wait take, in ms.
pub const SETTLE_MS: u64 = 5;

/// A program's description of itself and of one command line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// [`VERSION`] that the program follows.
    pub contract: u32,
    pub program: String,
    pub version: String,
    #[serde(deserialize_with = "positive")]
    pub tasks: u64,
    /// Tokens in flight at once, in each chain.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "positive")]
    pub tokens: u64,
    /// Chains of so many tasks that work at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "positive")]
    pub chains: u64,
    /// Round trips that each token makes in an iteration.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "positive")]
    pub trips: u64,
    /// Bytes that an iteration hands over, end to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Hops per iteration.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "positive_if_known"
    )]
    pub hops: Option<u64>,
    /// Requests per iteration of an open loop. Each sample is then the server's CPU time per request, and not the
    /// iteration's length.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "positive_if_known"
    )]
    pub arrivals: Option<u64>,
    pub claim: Claim,
    /// Passes, the main one first.
    pub passes: Vec<PassKind>,
    /// Upper bound of what the run takes of the system; the runner measures it if a program does not say.
    #[serde(default)]
    pub needs: Needs,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// True if each iteration starts processes of its own, which end with it: the runner takes their work for the
    /// program's, and each iteration for a value that depends on no other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// True if it takes no turns with other programs: its iterations are too long, such as a sleep of a second, or
    /// others would slow it by being there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// What a reader of its figures has to know: short sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Description {
    /// Description of a program with one token, its main pass alone, and no needs.
    pub fn new(program: &str, flags: &Flags, claim: Claim) -> Self {
        Description {
            contract: VERSION,
            program: program.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tasks: flags.tasks.into(),
            tokens: 1,
            chains: 1,
            trips: 1,
            bytes: None,
            hops: None,
            arrivals: None,
            claim,
            passes: vec![PassKind::main()],
            needs: Needs::default(),
            runtime: None,
            fresh: false,
            alone: false,
            notes: Vec::new(),
        }
    }
}

/// Reads a number that something is divided by; 0 is an error.
pub fn positive<'de, D: Deserializer<'de>>(number: D) -> Result<u64, D::Error> {
    NonZeroU64::deserialize(number).map(NonZeroU64::get)
}

/// The same of a number that may be unknown.
pub fn positive_if_known<'de, D: Deserializer<'de>>(number: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<NonZeroU64>::deserialize(number)?.map(NonZeroU64::get))
}

/// Reads a mean of what is never negative.
fn not_negative<'de, D: Deserializer<'de>>(number: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(number)?;
    if number >= 0.0 {
        return Ok(number);
    }
    Err(D::Error::custom(format!("mean: {number} is negative")))
}

/// The number that most programs have of tokens, chains and round trips.
pub fn one() -> u64 {
    1
}

/// True of that number, which is not written.
pub fn is_one(number: &u64) -> bool {
    *number == 1
}

/// Reads distributions, and refuses what no samples can have.
fn extra<'de, D: Deserializer<'de>>(line: D) -> Result<Extra, D::Error> {
    let extra = Extra::deserialize(line)?;
    for (name, Distribution { min, max, stddev, .. }) in &extra {
        if min > max || stddev.is_some_and(|stddev| stddev < 0.0) {
            return Err(D::Error::custom(format!(
                "extra: {name}: min must not be above max, nor stddev negative"
            )));
        }
    }
    Ok(extra)
}

/// Nature of a hop; the runner compares the counters with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The kernel switches from one thread to another.
    KernelSwitch,
    /// A runtime switches from one task to another.
    UserSwitch,
    NoSwitch,
}

/// One kind of pass that a program offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassKind {
    /// Name for `run N NAME`.
    pub name: String,
    /// Most untimed iterations after a wait.
    #[serde(default)]
    pub settle: u64,
}

/// Name of the pass in which a runner counts events, if a program keeps those iterations out of its distributions.
pub const COUNTED: &str = "counted";

impl PassKind {
    /// The main pass of a program with short iterations: three untimed ones after a wait.
    pub fn main() -> Self {
        PassKind { name: "main".to_owned(), settle: 3 }
    }
}

/// An async runtime as it was set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Name, such as `tokio`.
    pub name: String,
    /// Exact version, if the build knows it.
    pub version: Option<String>,
    /// Scheduler, such as `multi-thread`.
    pub flavor: String,
    /// Number of threads that run tasks.
    pub workers: u32,
}

impl Runtime {
    /// A runtime with one thread.
    pub fn one_thread(name: &str, version: Option<&str>) -> Self {
        Runtime {
            name: name.to_owned(),
            version: version.map(str::to_owned),
            flavor: "current-thread".to_owned(),
            workers: 1,
        }
    }
}

/// Distributions by name, such as the lateness of a heartbeat.
pub type Extra = BTreeMap<String, Distribution>;

/// One line that a controlled program prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "kebab-case")]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and none in a measured loop"
)]
pub enum Answer {
    /// All tasks run and the warm-up is over.
    Ready(Ready),
    /// A `run` is over.
    Ran {
        /// The timed iterations in order, in ns.
        samples_ns: Vec<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Extra::is_empty", deserialize_with = "extra")]
        extra: Extra,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runs: Option<Runs>,
    },
    /// All tasks are there and at rest.
    Held {
        #[serde(deserialize_with = "processes")]
        pids: Vec<i32>,
    },
    /// Everything is taken down and verified.
    Ended {
        /// From the start of taking down until the last task was joined.
        teardown_ns: Option<u64>,
        #[serde(default, skip_serializing_if = "Extra::is_empty", deserialize_with = "extra")]
        extra: Extra,
    },
    /// Something went wrong; the program ends with status 1.
    Failed {
        /// The first true cause.
        error: String,
    },
}

/// First answer of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    #[serde(deserialize_with = "processes")]
    pub pids: Vec<i32>,
    /// From the start of building until all tasks run.
    pub setup_ns: Option<u64>,
    /// The very first iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ns: Option<u64>,
    #[serde(flatten)]
    pub description: Description,
}

/// Reads some processes, each once, and no more than a runner can look at.
fn processes<'de, D: Deserializer<'de>>(line: D) -> Result<Vec<i32>, D::Error> {
    let pids = Vec::deserialize(line)?;
    let count = pids.len();
    if count > MOST_PROCESSES {
        return Err(D::Error::custom(format!(
            "pids: {count} processes are more than {MOST_PROCESSES}"
        )));
    }
    // Each is looked at, and their memory is summed.
    if count == 0 || pids.iter().collect::<BTreeSet<_>>().len() < count {
        return Err(D::Error::custom(format!(
            "pids: name the program itself, then its children, each of them once: {pids:?}"
        )));
    }
    Ok(pids)
}

/// CPU time, context switches and page faults of a process, all threads included (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode, in ns; the kernel counts in µs.
    pub user_ns: u64,
    /// CPU time in the kernel, in ns.
    pub system_ns: u64,
    /// Times a thread gave up its CPU: it waited.
    pub voluntary_switches: u64,
    /// Times the scheduler took the CPU from a thread that could have gone on.
    pub involuntary_switches: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// Elapsed time of all this, in ns: longer than the samples if something is done between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// Largest resident set of a process, in bytes, if the iterations start processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

/// Least CPU time that is split into user and kernel time, in ns. The kernel counts the sum exactly, but samples the
/// split at ticks of up to 10 ms (cputime_adjust, kernel/sched/cputime.c): 100 ticks give a share within 10 points.
const SPLIT: u64 = 1_000_000_000;

impl Usage {
    /// Usage of this process, or of the children that it has awaited, so far.
    pub fn now(of: UsageWho) -> Option<Usage> {
        let usage = getrusage(of).ok()?;
        Some(Usage {
            user_ns: usage.user_time().num_microseconds().unsigned_abs() * 1000,
            system_ns: usage.system_time().num_microseconds().unsigned_abs() * 1000,
            voluntary_switches: usage.voluntary_context_switches().unsigned_abs(),
            involuntary_switches: usage.involuntary_context_switches().unsigned_abs(),
            minor_faults: usage.minor_page_faults().unsigned_abs(),
            major_faults: usage.major_page_faults().unsigned_abs(),
            elapsed_ns: Some(ClockId::CLOCK_MONOTONIC.now().ok()?.num_nanoseconds().unsigned_abs()),
            peak_bytes: None,
        })
    }

    /// Usage since an earlier reading.
    pub fn since(self, before: Usage) -> Usage {
        self.with(before, u64::saturating_sub)
    }

    /// CPU time, in ns.
    pub fn cpu_ns(self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    /// CPU time divided by a count, for people; with its split if that is known well enough.
    pub fn cpu_time_per(self, count: u64) -> String {
        let [all, user, kernel] = [self.cpu_ns(), self.user_ns, self.system_ns]
            .map(|ns| Quantity::Time.show(ns as f64 / count as f64));
        if self.cpu_ns() < SPLIT {
            return all;
        }
        format!("{all} ({user} user, {kernel} kernel)")
    }

    /// Each count put together with the same one of another usage.
    #[must_use]
    pub fn with(self, other: Usage, combine: impl Fn(u64, u64) -> u64) -> Usage {
        Usage {
            user_ns: combine(self.user_ns, other.user_ns),
            system_ns: combine(self.system_ns, other.system_ns),
            voluntary_switches: combine(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: combine(self.involuntary_switches, other.involuntary_switches),
            minor_faults: combine(self.minor_faults, other.minor_faults),
            major_faults: combine(self.major_faults, other.major_faults),
            elapsed_ns: self
                .elapsed_ns
                .zip(other.elapsed_ns)
                .map(|(mine, theirs)| combine(mine, theirs)),
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
        }
    }
}

/// Summary of samples, in ns unless its name says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    #[serde(deserialize_with = "positive")]
    pub count: u64,
    #[serde(deserialize_with = "not_negative")]
    pub mean: f64,
    /// Population standard deviation; one sample has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stddev: Option<f64>,
    pub min: u64,
    /// 50th percentile.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    pub max: u64,
}

impl Distribution {
    /// Standard deviation of several samples, whatever is said of one.
    pub fn spread(&self) -> Option<f64> {
        self.stddev.filter(|_| self.count > 1)
    }
}
