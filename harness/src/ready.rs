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
    arrived: Arc<AtomicU32>,
    seen: u32,
    since: Instant,
}

/// A task's side: tells that it has started.
#[derive(Clone, Debug)]
pub struct Arrival(Arc<AtomicU32>);

impl Arrival {
    /// Tells that this task runs.
    pub fn arrive(self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Muster {
    /// Awaits `expected` tasks.
    pub fn of(expected: u32) -> Self {
        Muster {
            expected,
            arrived: Arc::new(AtomicU32::new(0)),
            seen: 0,
            since: Instant::now(),
        }
    }

    /// What each task is given.
    pub fn arrival(&self) -> Arrival {
        Arrival(Arc::clone(&self.arrived))
    }

    /// Whether all tasks have started.
    ///
    /// # Errors
    /// When none has come for 30 seconds, or at a signal.
    pub fn complete(&mut self) -> anyhow::Result<bool> {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        let arrived = self.arrived.load(Ordering::Relaxed);
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
    fn it_gives_up_when_nobody_comes() {
        let mut muster = Muster::of(2);
        muster.arrival().arrive();
        assert!(!muster.complete().unwrap());
        muster.since = Instant::now() - PATIENCE - Duration::from_secs(1);
        let error = muster.complete().unwrap_err().to_string();
        assert!(error.contains("only 1 of 2 tasks"), "{error}");
    }
}
