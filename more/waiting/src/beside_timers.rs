//! Async tasks that sleep on timers beside what is measured, and the proof that nothing woke them.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
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

/// Does `work` beside `timers` tasks that sleep on timers, and checks that they slept all the time. They end with the
/// runtime.
pub(crate) fn beside_timers(
    runtime: &Runtime,
    timers: u32,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut latch, polls) = (StartLatch::new(timers), Arc::new(AtomicU64::new(0)));
    for _ in 0..timers {
        let _context = runtime.enter();
        let (guard, sleep, polls) = (latch.guard()?, sleep(DAY), Arc::clone(&polls));
        runtime.spawn(async move {
            guard.started();
            let mut sleep = pin!(sleep);
            poll_fn(|context| {
                polls.fetch_add(1, Ordering::Relaxed);
                sleep.as_mut().poll(context)
            })
            .await;
            pending::<io::Result<()>>().await
        });
    }
    runtime.block_on(wait_for(&mut latch)).context("the tasks on timers")?;
    work()?;
    // Each was polled once: when it began to wait.
    let woken = polls.load(Ordering::Relaxed).saturating_sub(timers.into());
    ensure!(woken == 0, "tasks on timers were woken {woken} times, so they did not only wait");
    Ok(())
}
