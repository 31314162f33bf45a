//! Whether every task is there, found out before the first lap.
//!
//! `spawn` may return Ok for a thread that dies while it sets itself up (past
//! `vm.max_map_count`, for one): a driver that trusts it would wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::{Interrupted, signals};

/// How long the next task may keep the others waiting.
const PATIENCE: Duration = Duration::from_secs(30);

/// The driver's side: counts the tasks that have started.
#[derive(Debug)]
pub struct Muster {
    expected: u32,
    counts: Arc<Counts>,
    seen: u32,
    since: Instant,
}

#[derive(Debug, Default)]
struct Counts {
    arrived: AtomicU32,
    lost: AtomicU32,
}

/// A task's side: tells that it has started, or, when it is dropped, that it never will.
#[derive(Debug)]
pub struct Arrival(Option<Arc<Counts>>);

impl Arrival {
    /// Tells that this task runs.
    pub fn arrive(mut self) {
        if let Some(counts) = self.0.take() {
            counts.arrived.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if let Some(counts) = &self.0 {
            counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Muster {
    /// Awaits `expected` tasks.
    pub fn of(expected: u32) -> Self {
        Muster {
            expected,
            counts: Arc::default(),
            seen: 0,
            since: Instant::now(),
        }
    }

    /// What each task is given.
    pub fn arrival(&self) -> Arrival {
        Arrival(Some(Arc::clone(&self.counts)))
    }

    /// Whether all tasks have started.
    ///
    /// # Errors
    /// When none has come for 30 seconds, when one has ended instead, or at a signal.
    pub fn complete(&mut self) -> anyhow::Result<bool> {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        if self.counts.lost.load(Ordering::Relaxed) > 0 {
            bail!("a task ended before it had started");
        }
        let arrived = self.counts.arrived.load(Ordering::Relaxed);
        if arrived != self.seen {
            self.seen = arrived;
            self.since = Instant::now();
        }
        if arrived < self.expected && self.since.elapsed() > PATIENCE {
            bail!(
                "only {arrived} of {} tasks have started, and none in the last {} s: lower --tasks",
                self.expected,
                PATIENCE.as_secs()
            );
        }
        Ok(arrived >= self.expected)
    }

    /// Sleeps until all tasks have started.
    ///
    /// # Errors
    /// As [`Muster::complete`].
    pub fn wait(&mut self) -> anyhow::Result<()> {
        while !self.complete()? {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_complete_when_everyone_came() {
        let mut muster = Muster::of(2);
        let (first, second) = (muster.arrival(), muster.arrival());
        assert!(!muster.complete().unwrap());
        first.arrive();
        assert!(!muster.complete().unwrap());
        std::thread::spawn(|| second.arrive());
        muster.wait().unwrap();
    }

    #[test]
    fn it_does_not_wait_for_one_that_has_ended() {
        let mut muster = Muster::of(2);
        muster.arrival().arrive();
        drop(muster.arrival());
        assert!(muster.complete().is_err());
    }

    #[test]
    fn it_gives_up_when_nobody_comes() {
        let mut muster = Muster::of(2);
        muster.arrival().arrive();
        assert!(!muster.complete().unwrap());
        muster.since = Instant::now() - PATIENCE - Duration::from_secs(1);
        let error = muster.complete().unwrap_err().to_string();
        assert!(error.contains("only 1 of 2 tasks"), "{error}");
    }
}
