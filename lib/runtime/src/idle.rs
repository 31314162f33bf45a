//! The flags of a chain of async tasks, and the idle tasks beside it, each of which waits on a link of its own or on a
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

    /// Where the driver, which sends the tokens and takes them back, runs
    #[arg(long, value_enum, default_value = "spawned", help_heading = "Advanced")]
    pub driver: DriverKind,

    /// What the --idle tasks wait for; timer turns on Tokio's timers even with --idle 0
    #[arg(long, value_enum, default_value_t = IdleIn::Link, help_heading = "Advanced")]
    pub idle_in: IdleIn,
}

/// Place of the driver in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// in a task like the others
    Spawned,
    /// in block_on: with the multi-thread scheduler that thread is no worker, so the kernel has to wake it each time
    BlockOn,
}

/// Place where idle tasks wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IdleIn {
    /// a token that never comes, each on a link of its own
    Link,
    /// a timer of Tokio, set to a day
    Timer,
}

/// Sleep of an idle task: longer than a run.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl TokioFlags {
    /// Number of idle tasks that sleep on timers: all `idle` ones, which becomes 0, or none.
    pub fn timers(self, idle: &mut u32) -> u32 {
        if self.idle_in == IdleIn::Timer { mem::take(idle) } else { 0 }
    }

    /// Does `work` beside `idle` idle tasks, and checks that they waited all the time.
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

/// A task that waits on a link of its own; it holds both ends.
fn wait_on_link(transport: Transport) -> io::Result<impl Future<Output = ()>> {
    let (mut reader, writer) = link(transport)?;
    Ok(async move {
        let _ = reader.read(&mut [0]).await;
        drop(writer);
    })
}

/// Needs of tasks that sleep on timers: 1 KiB each is more than was seen.
pub fn timer_needs(timers: u32) -> Needs {
    Needs { bytes: Need::new(u64::from(timers) << 10, 0), ..Needs::default() }
}

/// Does `work` beside `timers` tasks that sleep on timers, and checks that they slept all the time.
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
        let wait = wait.with_context(|| limits::refused("create an idle task", count))?;
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
