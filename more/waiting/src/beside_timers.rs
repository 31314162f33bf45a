//! Async tasks that sleep on timers beside what is measured.

use std::time::Duration;

use anyhow::Context;
use brigade::StartLatch;
use contract::message::{Need, Needs};
use runtime::wait_for;
use tokio::runtime::Runtime;
use tokio::time::sleep;

/// Sleep of a task: longer than a run.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Needs of tasks that sleep on timers: 1 KiB each is more than was seen.
pub(crate) fn timer_needs(timers: u32) -> Needs {
    Needs { bytes: Need::new(u64::from(timers) << 10, 0), ..Needs::default() }
}

/// Does `work` beside `timers` tasks that sleep on timers, and end with the runtime.
pub(crate) fn beside_timers(
    runtime: &Runtime,
    timers: u32,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut latch = StartLatch::new(timers);
    for _ in 0..timers {
        let _context = runtime.enter();
        let (guard, sleep) = (latch.guard()?, sleep(DAY));
        runtime.spawn(async move {
            guard.started();
            sleep.await;
        });
    }
    runtime.block_on(wait_for(&mut latch)).context("the tasks on timers")?;
    work()
}
