//! The start latch: whether all tasks run, found out before the first iteration.
//!
//! `spawn` may return Ok for a thread that dies while it sets itself up (past vm.max_map_count, for
//! one): a driver that trusts it would wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;
use contract::Interrupted;
use host::signals;

/// Back-off: if no task has started for this long, a look sleeps this long. Under a real-time policy, a driver that only
/// yields could keep the tasks off its CPU for ever.
const REST: Duration = Duration::from_millis(1);

/// Longest time without another task starting.
const PATIENCE: Duration = Duration::from_secs(30);

/// The driver's side.
#[derive(Debug)]
pub struct StartLatch {
    expected: u32,
    counts: Arc<Counts>,
    seen: u32,
    /// Time of the first look, or of the last one that found a further task.
    since: Option<Instant>,
}

#[derive(Debug, Default)]
struct Counts {
    started: AtomicU32,
    lost: AtomicU32,
}

/// A task's side: says that the task runs, or, if it is dropped before, that it never will.
#[derive(Debug)]
pub struct StartGuard(Option<Arc<Counts>>);

impl StartGuard {
    /// Says that the task runs.
    pub fn started(mut self) {
        if let Some(counts) = self.0.take() {
            counts.started.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for StartGuard {
    fn drop(&mut self) {
        if let Some(counts) = &self.0 {
            counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl StartLatch {
    /// A latch for so many tasks.
    pub fn new(expected: u32) -> Self {
        StartLatch { expected, counts: Arc::default(), seen: 0, since: None }
    }

    /// Guard for the next task. An error if a signal has come, so that a long build can be interrupted.
    pub fn guard(&self) -> Result<StartGuard, Interrupted> {
        if signals::received().is_some() {
            return Err(Interrupted);
        }
        Ok(StartGuard(Some(Arc::clone(&self.counts))))
    }

    /// True if all tasks run; an error if none has started for 30 seconds, if one has ended instead, or at a
    /// signal. It may sleep: others are to start meanwhile.
    pub fn is_open(&mut self) -> anyhow::Result<bool> {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        ensure!(
            self.counts.lost.load(Ordering::Relaxed) == 0,
            "a task ended before it had started"
        );
        let (started, expected) = (self.counts.started.load(Ordering::Relaxed), self.expected);
        if started >= expected {
            return Ok(true);
        }
        if started != self.seen {
            (self.seen, self.since) = (started, None);
        }
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        ensure!(
            waited <= PATIENCE,
            "only {started} of {expected} tasks have started, none of them in the last {} s: lower --tasks",
            PATIENCE.as_secs()
        );
        if waited > REST {
            thread::sleep(REST);
        }
        Ok(false)
    }

    /// Waits until all tasks run.
    pub fn wait(&mut self) -> anyhow::Result<()> {
        while !self.is_open()? {
            thread::sleep(REST);
        }
        Ok(())
    }
}
