//! Idle tasks that sleep on a timer, beside a chain.

use std::mem;
use std::time::Duration;

use anyhow::{Context, bail};
use chain::{PollCount, StartGuard, StartLatch};
use clap::ValueEnum;
use contract::message::{Need, Needs};
use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::{RuntimeFlags, wait_for};

/// Place where idle tasks wait.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct IdleFlags {
    /// Place where idle tasks wait, with --idle; with timer Tokio has its timers even if --idle is 0
    #[arg(long, value_enum, default_value_t = IdleIn::Link, help_heading = "Advanced")]
    pub idle_in: IdleIn,
}

/// Place where idle tasks wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IdleIn {
    /// links of their own
    Link,
    /// Tokio's timers, for a day
    Timer,
}

/// Time for which idle tasks sleep: longer than a run.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of a task that sleeps; more than was seen.
const TIMER_TASK_BYTES: u64 = 1 << 10;

impl IdleFlags {
    /// Moves `idle` tasks to timers, where these flags ask for that: returns how many, and leaves 0.
    pub fn timers(self, idle: &mut u32) -> u32 {
        match self.idle_in {
            IdleIn::Link => 0,
            IdleIn::Timer => mem::take(idle),
        }
    }

    /// Builds a runtime, with I/O where `io` is set, and with timers where idle tasks sleep on them.
    ///
    /// # Errors
    /// As [`RuntimeFlags::build`].
    pub fn build(self, runtime: &RuntimeFlags, io: bool) -> anyhow::Result<Runtime> {
        runtime.build_with(|builder| {
            if io {
                builder.enable_io();
            }
            if self.idle_in == IdleIn::Timer {
                builder.enable_time();
            }
        })
    }
}

/// Needs of so many tasks that sleep on timers.
pub fn timer_needs(timers: u32) -> Needs {
    Needs { bytes: Need::new(u64::from(timers) * TIMER_TASK_BYTES, 0), ..Needs::default() }
}

/// Does `work` beside so many tasks that sleep on timers, and checks that they slept all the time.
///
/// # Errors
/// That of `work`; where a task was woken.
pub fn beside_timers(
    runtime: &Runtime,
    timers: u32,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if timers == 0 {
        return work();
    }
    let mut latch = StartLatch::new(timers);
    let polls = PollCount::default();
    let spawn = |_| runtime.spawn(polls.of(doze(latch.guard(None))));
    let tasks: Vec<_> = (0..timers).map(spawn).collect();
    let started = runtime.block_on(wait_for(&mut latch)).context("the idle tasks");
    let slept = started.and_then(|()| work()).and_then(|()| polls.check(timers));
    tasks.iter().for_each(|task| task.abort());
    for task in tasks {
        match runtime.block_on(task) {
            Err(ended) if ended.is_cancelled() => {}
            ended => bail!("an idle task ended by itself: {ended:?}"),
        }
    }
    slept
}

async fn doze(guard: StartGuard) -> std::io::Result<()> {
    guard.started()?;
    sleep(DAY).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn work_is_done_beside_tasks_that_sleep() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let alive = || runtime.metrics().num_alive_tasks();
        let work = || match alive() {
            5 => bail!("done"),
            alive => bail!("{alive} tasks"),
        };
        let error = beside_timers(&runtime, 5, work).unwrap_err();
        assert_eq!((error.to_string().as_str(), alive()), ("done", 0));
        assert!(beside_timers(&runtime, 5, || Ok(())).is_ok());
    }
}
