//! Tokio tasks are created, N in a row.
//!
//! One iteration: a task on the same runtime spawns N tasks, each of which returns its own number at
//! once, and awaits them.
//!
//! Timed: the N calls of `tokio::spawn`: the allocation of each task, and its place in a queue. Left
//! out: awaiting the tasks, and the check of their numbers.
//!
//! The pass `single` reads the clock once more for each task, which takes some 20 ns. It adds two
//! distributions: `creation`, one call of `spawn` with one reading, and `spawn_to_body`, from that call
//! to the first instruction of the task. On the current-thread scheduler no task runs before the last
//! one is spawned. For `hold` N tasks wait for nothing but their end.
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
use creation::{DepthFlags, SleepFlags, SpawnTimes, use_stack};
use runtime::RuntimeFlags;
use tokio::task::{JoinHandle, yield_now};

/// Time the creation of Tokio tasks
#[derive(Parser)]
#[command(mut_arg("iters", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "1")))]
#[command(mut_arg("warmup", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "0")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    runtime: RuntimeFlags,
    /// Create boxed futures without a runtime, each polled once and dropped: a lower bound
    #[arg(long, conflicts_with_all = ["flavor", "workers", "placement", "sleep"])]
    floor: bool,
    #[command(flatten)]
    sleep: SleepFlags,
    #[command(flatten)]
    depth: DepthFlags,
}

/// Upper bound of the bytes of a task, its places in the driver's lists included.
const TASK_BYTES: u64 = 512;

/// Bytes of the process besides its tasks.
const FIXED_BYTES: u64 = 4 << 20;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 10_000, iters: 100, warmup: 10 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let claim = match self.floor {
            true => Claim::NoSwitch,
            false => Claim::UserSwitch,
        };
        let tasks = Description {
            passes: self.sleep.passes(self.floor),
            alone: self.sleep.sleep.is_some(),
            needs: Needs { bytes: Need::new(FIXED_BYTES, TASK_BYTES), ..Needs::default() },
            ..Description::new("async-creation", &self.flags, claim)
        };
        match self.floor {
            true => Ok(tasks),
            false => self.runtime.describe(tasks),
        }
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let n = cli.flags.tasks;
    cli.depth.set();
    if cli.floor {
        return floor::measure(n, run);
    }
    if let Some(sleep) = cli.sleep.sleep {
        return sleepers::measure(cli, sleep.into(), run);
    }
    let runtime = cli.runtime.build(false)?;
    let mut tasks = Vec::with_capacity(n as usize);
    while let Some(step) = run.next_step()? {
        let (pass, result) = match step {
            Step::Hold => {
                let held = runtime.block_on(hold(n))?;
                run.held()?;
                runtime.block_on(release(held))?;
                continue;
            }
            // The driver waits for a request outside the runtime, where it holds no worker.
            Step::Pass(pass) if pass.is(SpawnTimes::PASS) => {
                runtime.block_on(runtime.spawn(create_stamped(n, *pass)))?
            }
            Step::Pass(pass) => {
                let driver = runtime.spawn(create(n, *pass, tasks));
                let (pass, result);
                (pass, result, tasks) = runtime.block_on(driver)?;
                (pass, result)
            }
        };
        run.finish(pass)?;
        result?;
    }
    Ok(())
}

/// Spawns N tasks in each iteration, and times that.
async fn create(
    n: u32,
    mut pass: Pass,
    mut tasks: Vec<JoinHandle<u32>>,
) -> (Pass, anyhow::Result<()>, Vec<JoinHandle<u32>>) {
    let result = async {
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
    };
    let result = result.await;
    (pass, result, tasks)
}

/// The same with a clock reading after each spawn, and one first thing in each task.
async fn create_stamped(n: u32, mut pass: Pass) -> (Pass, anyhow::Result<()>) {
    let result = async {
        let mut tasks = Vec::with_capacity(n as usize);
        let mut to_body = Vec::with_capacity(n as usize);
        let mut times = SpawnTimes::new(n);
        while pass.next_iteration().is_some() {
            times.begin(pass.is_timed());
            let clock = Instant::now();
            let mut called = clock;
            for _ in 0..n {
                tasks.push(tokio::spawn(async move { called.elapsed() }));
                called = times.returned(called);
            }
            pass.record(called - clock);

            for task in tasks.drain(..) {
                to_body.push(task.await.context("a task died")?);
            }
            times.end(to_body.drain(..));
        }
        times.add_to(&mut pass.extra);
        Ok(())
    };
    let result = result.await;
    (pass, result)
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
    while !latch.is_open()? {
        yield_now().await;
    }
    Ok(tasks)
}

async fn release(tasks: Vec<JoinHandle<()>>) -> anyhow::Result<()> {
    tasks.iter().for_each(JoinHandle::abort);
    for task in tasks {
        let is_cancelled = task.await.is_err_and(|e| e.is_cancelled());
        ensure!(is_cancelled, "a task ended that should have waited");
    }
    Ok(())
}
