//! Events of a further, untimed run over the same tasks.

use std::collections::BTreeMap;

use contract::message::Usage;
use serde::{Deserialize, Serialize};

use crate::Interference;

/// Events counted from before the first iteration of a further `run` until after its last one,
/// settling included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Number of timed iterations.
    pub iterations: u64,
    /// Sum of their times, in ns. It contains the cost of counting.
    pub time: u64,
    /// CPU time, switches and faults of the timed iterations.
    pub usage: Option<Usage>,
    /// Growth of the system's totals.
    pub interference: Interference,
    /// Calls that read, as read(2): `syscr` of /proc/PID/io. Receiving from a socket is none.
    pub reads: Option<u64>,
    /// Calls that write, as write(2): `syscw` of /proc/PID/io.
    pub writes: Option<u64>,
    /// Threads or CPUs that were counted; absent where none were.
    pub scope: Option<Scope>,
    /// Perf events by name:
    /// - `context_switches`, `cpu_migrations`, `page_faults`: of threads;
    /// - `cycles_user`, `cycles_kernel`, `instructions_user`, `instructions_kernel`: of the CPU;
    /// - `cache_references_user`, `cache_references_kernel`, `cache_misses_user`,
    ///   `cache_misses_kernel`: of the last level of cache, as the CPU defines it;
    /// - `system_calls`: all of them;
    /// - `epoll_waits`: epoll_wait, epoll_pwait and epoll_pwait2 among them;
    /// - `io_uring_enters`: io_uring_enter among them.
    pub events: BTreeMap<String, u64>,
    /// Smallest share of the time in which a hardware counter was on. A CPU with too few counters
    /// switches between them, and the counts are scaled to the whole time.
    pub share: Option<f64>,
    /// Events that are missing from `events`.
    pub absent: Vec<Absent>,
}

/// Threads or CPUs that were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each thread of the program and of its children.
    Threads,
    /// Whatever ran on the CPUs that the program may use, since it has more threads than descriptors
    /// for their counters.
    Cpus,
}

/// Events that could not be counted for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Absent {
    /// Names of the events.
    pub events: Vec<String>,
    /// Cause.
    pub reason: String,
    /// Command or change that would allow them; absent where nothing would.
    pub remedy: Option<String>,
}

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.events.join(", "), self.reason)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, ": {remedy}"))
    }
}
