//! Tasks that sleep: how many are alive at once, and how late each wakes.
//!
//! A task is alive from just before it is spawned until the last thing that it does. The spawner alone adds to
//! the count, so it sees its greatest value. In the timed span that takes an atomic addition and a look for a
//! signal at each spawn, and an atomic subtraction at each end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use contract::samples::Recorder;
use contract::{Interrupted, Pass};
use host::signals;

/// Tasks alive now. One count for the process, so that a task carries nothing for it.
static ALIVE: AtomicU64 = AtomicU64::new(0);

/// Mark of a task that is alive. A task that is aborted, or never runs, gives it back as well.
#[derive(Debug)]
pub(crate) struct Alive(());

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Release);
    }
}

/// Lateness of a task that was to wake at `due` and has just done so, in ns.
pub(crate) fn lateness(due: Instant) -> u64 {
    u64::try_from(due.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Counts of the sleepers of one pass.
#[derive(Debug)]
pub(crate) struct Sleepers {
    most: u64,
    late: Vec<u64>,
    late_all: Recorder,
    most_all: Recorder,
}

impl Sleepers {
    /// Longest wait that is not interrupted by a signal.
    const SOON: Duration = Duration::from_secs(1);

    /// Interval at which a longer wait looks for a signal.
    pub(crate) const LOOK: Duration = Duration::from_millis(10);

    /// Sleepers of iterations with so many tasks each. The list of their times is touched here.
    pub(crate) fn new(tasks: u32) -> Self {
        // Not zeros, which the allocator takes from pages that are not there yet.
        let mut late = vec![u64::MAX; tasks as usize];
        late.clear();
        Sleepers { most: 0, late, late_all: Recorder::default(), most_all: Recorder::default() }
    }

    /// Counts a task that is about to be spawned.
    #[inline]
    pub(crate) fn spawning(&mut self) -> Result<Alive, Interrupted> {
        if signals::received().is_some() {
            return Err(Interrupted);
        }
        let alive = ALIVE.fetch_add(1, Ordering::Relaxed) + 1;
        self.most = self.most.max(alive);
        Ok(Alive(()))
    }

    /// True if the sleepers, asleep since `since`, wake so late that a signal has to be looked for meanwhile: a
    /// join cannot be interrupted.
    pub(crate) fn wakes_late(since: Instant, sleep: Duration) -> Result<bool, Interrupted> {
        let late = since.elapsed() + Self::SOON < sleep;
        if late && signals::received().is_some() { Err(Interrupted) } else { Ok(late) }
    }

    /// Tasks alive now.
    pub(crate) fn alive() -> u64 {
        ALIVE.load(Ordering::Acquire)
    }

    /// Takes the lateness that a task returned.
    #[inline]
    pub(crate) fn joined(&mut self, late: u64) {
        self.late.push(late);
    }

    /// Ends an iteration, outside the timed span; the counts of one that is not timed are dropped.
    pub(crate) fn end(&mut self, pass: &Pass) {
        if pass.is_timed() {
            self.late.iter().for_each(|&ns| self.late_all.record(ns));
            self.most_all.record(self.most);
        }
        self.late.clear();
        self.most = 0;
    }

    /// Adds the distributions of the lateness and of the most tasks that were alive at once.
    pub(crate) fn add_to(&self, pass: &mut Pass) {
        pass.add_extra("late", &self.late_all);
        pass.add_extra("alive_count", &self.most_all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only test that counts: the count is the process's.
    #[test]
    fn the_most_that_were_alive_at_once_are_counted() {
        let mut sleepers = Sleepers::new(4);
        let mut alive: Vec<Alive> = (0..3).map(|_| sleepers.spawning().unwrap()).collect();
        alive.pop();
        alive.push(sleepers.spawning().unwrap());
        assert_eq!((Sleepers::alive(), sleepers.most), (3, 3));
        drop(alive);
        assert_eq!(Sleepers::alive(), 0);
    }
}
