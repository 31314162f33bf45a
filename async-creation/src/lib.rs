//! Tokio tasks are created, N in a row.
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

mod cli;
mod floor;
mod sleepers;

use std::future::pending;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use chain::StartLatch;
use contract::{Pass, Run, Step};
use creation::use_stack;
use tokio::task::JoinHandle;

use cli::Cli;
use sleepers::release;

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| {
        cli.depth.set();
        match cli.sleep.sleep {
            None if cli.floor => floor::measure(cli, run),
            None => measure(cli, run),
            Some(sleep) => sleepers::measure(cli, sleep.into(), run),
        }
    })
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let n = cli.flags.tasks;
    let runtime = cli.runtime.build(false)?;
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
