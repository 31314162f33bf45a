//! Creates N Tokio tasks in a row.
//!
//! One iteration: a task on the same runtime spawns N tasks, each of which returns its own number at
//! once, and awaits them.
//!
//! Timed: the N calls of `tokio::spawn`: the allocation of each task, and its place in a queue. Left
//! out: awaiting the tasks, and the check of their numbers.
//!
//! For `hold` N tasks wait for nothing but their end.
//!
//! `--floor` is the creation without a runtime (`floor.rs`); `--sleep` times tasks that sleep until the
//! last one is joined (`sleepers.rs`).
//!
//! Not to be taken for the cost of a task's whole life, which contains its polls, its join and the
//! release of its memory.

mod floor;
mod sleepers;

use std::future::pending;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use chain::StartLatch;
use clap::Parser;
use clap::builder::ArgPredicate;
use contract::message::{Claim, Description, Need, Needs};
use contract::{Defaults, Flags, Pass, Program, Run, Step};
use creation::{DepthFlags, SleepFlags, use_stack};
use runtime::RuntimeFlags;
use tokio::task::JoinHandle;

use sleepers::release;

/// Time how long it takes to create async (Tokio) tasks
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks to create per iteration")))]
#[command(mut_arg("iters", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "1")))]
#[command(mut_arg("warmup", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "0")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    runtime: RuntimeFlags,
    /// Create boxed futures without a runtime, and poll each once before it is dropped: a lower bound
    #[arg(long, conflicts_with_all = ["flavor", "workers", "placement", "sleep", "gate"])]
    floor: bool,
    #[command(flatten)]
    sleep: SleepFlags,
    #[command(flatten)]
    depth: DepthFlags,
}

/// Upper bound of the bytes per task, including its places in the driver's lists.
const TASK_BYTES: u64 = 512;

/// Bytes of the process without its tasks.
const FIXED_BYTES: u64 = 4 << 20;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 10_000, iters: 100, warmup: 10 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let claim = if self.floor { Claim::NoSwitch } else { Claim::UserSwitch };
        let tasks = Description {
            passes: self.sleep.passes(),
            alone: self.sleep.sleep.is_some(),
            needs: Needs { bytes: Need::new(FIXED_BYTES, TASK_BYTES), ..Needs::default() },
            ..Description::new("async-creation", &self.flags, claim)
        };
        if self.floor { Ok(tasks) } else { self.runtime.describe(tasks) }
    }
}

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| {
        cli.depth.set();
        match cli.sleep.sleep {
            None if cli.floor => floor::measure(cli.flags.tasks, run),
            None => measure(cli.flags.tasks, cli.runtime, run),
            Some(sleep) => {
                let sleep = (sleep.into(), cli.sleep.gate);
                sleepers::measure(cli.flags.tasks, cli.runtime, sleep, run)
            }
        }
    })
}

fn measure(n: u32, runtime: RuntimeFlags, run: &mut Run) -> anyhow::Result<()> {
    let runtime = runtime.build(false)?;
    while let Some(step) = run.next_step()? {
        let Step::Pass(mut pass) = step else {
            let held = runtime.block_on(hold(n))?;
            run.held()?;
            runtime.block_on(release(held))?;
            continue;
        };
        // Between passes the main thread waits outside the runtime, where it holds no worker.
        let driver = runtime.spawn(async move {
            let result = create(n, &mut pass).await;
            (pass, result)
        });
        let (pass, result) = runtime.block_on(driver)?;
        run.finish(*pass)?;
        result?;
    }
    Ok(())
}

/// Spawns N tasks in each iteration, and times that.
async fn create(n: u32, pass: &mut Pass) -> anyhow::Result<()> {
    let mut tasks = Vec::with_capacity(n as usize);
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for k in 0..n {
            tasks.push(tokio::spawn(async move { k }));
        }
        pass.record(clock.elapsed());

        for (k, task) in (0..).zip(tasks.drain(..)) {
            let returned = task.await.context("a task died")?;
            ensure!(returned == k, "task {k} returned {returned}");
        }
    }
    Ok(())
}

/// N tasks alive at once.
async fn hold(n: u32) -> anyhow::Result<Vec<JoinHandle<()>>> {
    let mut latch = StartLatch::new(n);
    let mut tasks = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let guard = latch.guard(None);
        tasks.push(tokio::spawn(async move {
            use_stack();
            if guard.started().is_ok() {
                pending::<()>().await;
            }
        }));
    }
    runtime::wait_for(&mut latch).await?;
    Ok(tasks)
}
