//! `--counters`: what a second, untimed pass over the same tasks costs in events.
//!
//! Perf events that follow a thread are switched on and off with it, at every context switch, so
//! that they would be a part of the time that is measured. They are opened when the last timed
//! lap is over, and the program's own loop then goes on for some more laps that nobody times.

#[cfg(feature = "perf")]
mod perf;
#[cfg(not(feature = "perf"))]
#[path = "without.rs"]
mod perf;
#[cfg(feature = "perf")]
mod reason;
mod tasks;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::interrupts::Interrupts;
use crate::processes::Used;
use crate::usage::{CpuTime, Usage};

pub(crate) use tasks::Tasks;
pub(crate) use text::write;

/// So many laps are counted: a tenth of the timed ones, but a hundred at least where there are as
/// many. Counts hardly vary, so that few are enough.
pub(crate) fn laps(iters: u64) -> u64 {
    (iters / 10).max(100).min(iters)
}

/// What was counted in the second pass, from before its first iteration to after its last one, with
/// what lies between them. Divide by [`Record::counted`](crate::record::Record::counted) for
/// figures per hop. Null is what this system does not tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// How many iterations were counted.
    pub iterations: u64,
    /// What they took together, in ns. It contains the price of counting, and is no measurement of
    /// anything else.
    pub time: u64,
    /// CPU time, switches and faults of the program and its tasks, exact and without any right.
    pub usage: Option<Usage>,
    /// Interrupts between CPUs, of the whole system.
    pub interrupts: Interrupts,
    /// What all CPUs of the system idled, together, in ns (counted in ticks).
    pub idle: Option<u64>,
    /// What the hypervisor gave to others, all CPUs together, in ns (counted in ticks).
    pub steal: Option<u64>,
    /// Calls that read: `syscr` of /proc/PID/io (proc_pid_io(5)). Receiving from a socket is none.
    pub reads: Option<u64>,
    /// Calls that write: `syscw`.
    pub writes: Option<u64>,
    /// Whose events were counted; null where none were.
    pub scope: Option<Scope>,
    /// Perf events by their name:
    /// - `context_switches`: of threads, voluntary or not;
    /// - `cpu_migrations`: a thread was moved to another CPU;
    /// - `page_faults`;
    /// - `cycles_user`, `cycles_kernel`, `instructions_user`, `instructions_kernel`: of the CPU;
    /// - `cache_references_user`, `cache_references_kernel`, `cache_misses_user`,
    ///   `cache_misses_kernel`: of the last level of cache, as the CPU defines it;
    /// - `system_calls`: all of them;
    /// - `epoll_waits`: the calls of epoll_wait, epoll_pwait and epoll_pwait2 among them;
    /// - `io_uring_enters`: the calls of io_uring_enter among them.
    pub events: BTreeMap<String, u64>,
    /// Where a CPU has fewer counters than were asked for, they take turns, and the counts are
    /// drawn out to the whole time: the smallest share of it for which one of them counted.
    pub share: Option<f64>,
    /// Which events are missing from `events`, and why.
    pub absent: Vec<Absent>,
}

/// Whose events were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Those of each thread of the program, and of its tasks where they are processes.
    Threads,
    /// Whatever ran on the CPUs of the run: it has more threads than descriptors for their counters.
    Cpus,
}

/// Events that could not be counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Their names.
    pub events: Vec<String>,
    /// Why, and what would allow them.
    pub reason: String,
}

/// The second pass while it goes on.
#[derive(Debug)]
pub(crate) struct Counting {
    iterations: u64,
    time: Duration,
    before: Totals,
    events: perf::Events,
}

impl Counting {
    /// Opens the counters. They count when this returns, and the calling thread's last.
    pub(crate) fn begin(tasks: &Tasks) -> nix::Result<Self> {
        let mut events = perf::Events::open(tasks);
        let before = Totals::at_begin(tasks)?;
        events.enable();
        Ok(Counting {
            iterations: 0,
            time: Duration::ZERO,
            before,
            events,
        })
    }

    /// Takes the lap that was begun last.
    pub(crate) fn record(&mut self, elapsed: Duration) {
        self.iterations += 1;
        self.time += elapsed;
    }

    /// Reads the counters; the calling thread's stop first.
    pub(crate) fn end(mut self, tasks: &Tasks) -> nix::Result<Counters> {
        self.events.disable();
        let after = Totals::at_end(tasks)?;
        let outcome = self.events.read();
        let before = self.before;
        let difference = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        Ok(Counters {
            iterations: self.iterations,
            time: self.time.as_nanos() as u64,
            usage: after.used.since(before.used),
            interrupts: after.interrupts.since(before.interrupts),
            idle: difference(after.cpu.idle, before.cpu.idle),
            steal: difference(after.cpu.steal, before.cpu.steal),
            reads: difference(after.reads, before.reads),
            writes: difference(after.writes, before.writes),
            scope: outcome.scope.filter(|_| !outcome.events.is_empty()),
            events: outcome.events,
            share: outcome.share,
            absent: outcome.absent,
        })
    }
}

/// What the perf events came to.
#[derive(Debug, Default)]
struct Outcome {
    scope: Option<Scope>,
    events: BTreeMap<String, u64>,
    share: Option<f64>,
    absent: Vec<Absent>,
}

/// What the system counts all the time.
#[derive(Clone, Copy, Debug)]
struct Totals {
    used: Used,
    interrupts: Interrupts,
    cpu: CpuTime,
    reads: Option<u64>,
    writes: Option<u64>,
}

impl Totals {
    /// What is nearest to the laps is what reading the rest would be counted in.
    fn at_begin(tasks: &Tasks) -> nix::Result<Self> {
        let others = tasks.processes.spent();
        let interrupts = Interrupts::now();
        let cpu = CpuTime::now();
        let (reads, writes) = tasks.calls().unzip();
        let own = Usage::now()?;
        Ok(Totals {
            used: Used { own, others },
            interrupts,
            cpu,
            reads,
            writes,
        })
    }

    fn at_end(tasks: &Tasks) -> nix::Result<Self> {
        let own = Usage::now()?;
        let (reads, writes) = tasks.calls().unzip();
        let interrupts = Interrupts::now();
        let cpu = CpuTime::now();
        let others = tasks.processes.spent();
        Ok(Totals {
            used: Used { own, others },
            interrupts,
            cpu,
            reads: reads.map(|reads| reads.saturating_sub(tasks.own_reads())),
            writes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_laps_is_counted_but_a_hundred_at_least() {
        assert_eq!([1, 50, 100, 500].map(laps), [1, 50, 100, 100]);
        assert_eq!([1000, 10_000].map(laps), [100, 1000]);
    }

    #[test]
    fn what_this_thread_does_is_counted() {
        let tasks = Tasks::default();
        let mut counting = Counting::begin(&tasks).unwrap();
        for _ in 0..50 {
            std::thread::sleep(Duration::from_micros(200));
            counting.record(Duration::from_micros(200));
        }
        let counters = counting.end(&tasks).unwrap();
        assert_eq!((counters.iterations, counters.time), (50, 10_000_000));
        let usage = counters.usage.unwrap();
        assert!(usage.voluntary_switches >= 50, "{usage:?}");
        if let Some(&switches) = counters.events.get("context_switches") {
            // Other tests run in this process, too.
            assert!(switches >= 50, "{counters:?}");
        }
        let events = counters.events.len();
        let absent: usize = counters.absent.iter().map(|a| a.events.len()).sum();
        assert_eq!(
            events + absent,
            14,
            "each is there or has a reason: {counters:?}"
        );
        assert!(
            counters
                .absent
                .iter()
                .all(|absent| !absent.reason.is_empty())
        );
    }
}
