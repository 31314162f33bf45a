//! Tokio tasks are created, N in a row.
//!
//! One iteration: a task on the same runtime spawns N tasks, each of which returns its own number at once, and awaits
//! them.
//!
//! Timed: the N calls of `tokio::spawn`: allocating each task, and putting it into a queue. On the multi-thread
//! scheduler, the default, this also wakes other workers, which run tasks meanwhile. Left out: awaiting the tasks, and the
//! check of their numbers; CPU time and switches include them.
//!
//! To be held, N tasks wait until they are aborted.
//!
//! Not to be taken for the cost of a task's whole life: the time leaves out its join and the release of its memory.
//! `floors --of boxed-future` creates futures without a runtime.
//!
//! To trust a figure, read this page and lib/contract/src/{pass,samples}.rs: the rest of what it links is outside of
//! the timed spans.

use std::{process::ExitCode, time::Instant};

use anyhow::{Context, Result, ensure};
use contract::message::{Claim, Description, Need, Needs};
use contract::{Defaults, Flags, Pass, Program, Step};
use runtime::{RuntimeFlags, hold, join};

/// Time how long it takes to create async (Tokio) tasks
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks to create per iteration")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    runtime: RuntimeFlags,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 10_000, iters: 100, warmup: 10 };

    fn describe(&self) -> Result<Description> {
        // 4 MiB for the process, and at most 512 bytes per task, with its handle in the driver's list.
        let needs = Needs { bytes: Need::new(4 << 20, 512), ..Needs::default() };
        let tasks = Description::new("async-creation", &self.flags, Claim::UserSwitch);
        self.runtime.describe(Description { needs, ..tasks })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| {
        let (n, runtime) = (cli.flags.tasks, cli.runtime.build(|builder| builder)?);
        while let Some(step) = run.next_step()? {
            match step {
                Step::Hold => hold::<0>(&runtime, n, || (), || run.held())?,
                // Between passes this thread waits for a request outside the runtime, so that it blocks no worker.
                Step::Pass(pass) => {
                    run.finish(runtime.block_on(join(runtime.spawn(create(n, *pass))))?)?
                }
            }
        }
        Ok(())
    })
}

/// Spawns N tasks in each iteration, and times that.
async fn create(n: u32, mut pass: Pass) -> Result<Pass> {
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
    Ok(pass)
}
