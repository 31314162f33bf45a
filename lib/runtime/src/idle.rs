//! The flags of a chain of tasks, and the idle tasks beside it: each waits on a link of its own, or sleeps on a
//! timer.

use std::future::pending;
use std::io;
use std::mem;
use std::time::Duration;

use anyhow::Context;
use chain::{PollCount, StartLatch, Transport};
use clap::ValueEnum;
use contract::limits;
use contract::message::{Need, Needs};
use tokio::io::AsyncReadExt;
use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::{RuntimeFlags, link, wait_for};

/// Runtime of a chain of tasks, and the places of its driver and its idle tasks.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct TokioFlags {
    #[command(flatten)]
    #[expect(missing_docs, reason = "flags with docs of their own")]
    pub runtime: RuntimeFlags,

    /// Place of the driver
    #[arg(long, value_enum, default_value = "spawned", help_heading = "Advanced")]
    pub driver: DriverKind,

    /// Place where idle tasks wait, with --idle; with timer Tokio has its timers even if --idle is 0
    #[arg(long, value_enum, default_value_t = IdleIn::Link, help_heading = "Advanced")]
    pub idle_in: IdleIn,
}

/// Place of the driver in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// a task like the others
    Spawned,
    /// the future of block_on: on the multi-thread scheduler its thread is no worker, and each wake-up of
    /// it is one by the kernel
    BlockOn,
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

impl TokioFlags {
    /// Number of idle tasks that sleep on timers: all `idle` ones, which becomes 0, or none.
    pub fn timers(self, idle: &mut u32) -> u32 {
        if self.idle_in == IdleIn::Timer { mem::take(idle) } else { 0 }
    }

    /// Does `work` beside so many idle tasks, and checks that they waited all the time.
    pub fn beside(
        self,
        runtime: &Runtime,
        (idle, transport): (u32, Transport),
        work: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self.idle_in {
            IdleIn::Timer => beside_timers(runtime, idle, work),
            IdleIn::Link => beside_idle(runtime, idle, || wait_on_link(transport), work),
        }
    }
}

/// A task that waits on a link of its own, both ends of which it has.
fn wait_on_link(transport: Transport) -> io::Result<impl Future<Output = ()>> {
    let (mut reader, writer) = link(transport)?;
    Ok(async move {
        let _ = reader.read(&mut [0]).await;
        drop(writer);
    })
}

/// Needs of so many tasks that sleep on timers: 1 KiB each is more than was seen.
pub fn timer_needs(timers: u32) -> Needs {
    Needs { bytes: Need::new(u64::from(timers) << 10, 0), ..Needs::default() }
}

/// Does `work` beside so many tasks that sleep on timers, and checks that they slept all the time.
pub fn beside_timers(
    runtime: &Runtime,
    timers: u32,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    beside_idle(runtime, timers, || Ok(sleep(DAY)), work)
}

/// The idle tasks end with the runtime.
fn beside_idle<F: Future<Output: Send> + Send + 'static>(
    runtime: &Runtime,
    count: u32,
    wait: impl Fn() -> io::Result<F>,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut latch, polls) = (StartLatch::new(count), PollCount::default());
    for _ in 0..count {
        let _context = runtime.enter();
        let (guard, wait) = (latch.guard(None), wait());
        let wait = wait.with_context(|| limits::refused("make an idle task", count))?;
        runtime.spawn(polls.of(async {
            guard.started()?;
            wait.await;
            pending::<io::Result<()>>().await
        }));
    }
    runtime.block_on(wait_for(&mut latch)).context("the idle tasks")?;
    work()?;
    polls.check(count)
}
