//! Strategies for blocking work in an async runtime.
//!
//! One iteration: a batch of N operations, each in a Tokio task of its own; a task on the same runtime
//! spawns them one after the other and awaits them all. With `--driver block-on` the main thread spawns
//! them, from outside of the runtime, and waits for one more task that awaits them all. `--operation` says
//! what an operation does (`operation.rs`), `--strategy` where it is done (`strategy.rs`).
//!
//! Timed: the N calls of `tokio::spawn`, the operations, and the N joins. Left out: drawing the
//! operations, and the check of what each returned.
//!
//! All strategies have the same number of threads, apart from the main one: only workers for `direct`, otherwise up to
//! four workers and threads that may block. The program counts them at the end.
//!
//! The pass `neighbours` times the same batches beside a heartbeat on the same runtime, which takes CPU time from them.
//!
//! Not to be taken for the latency or the cost of an operation: operations run side by side, on as many
//! CPUs as there are.

mod operation;

use std::mem::take;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use blocking::{BlockingFlags, Driven, Offload, Progress, neighbours};
use clap::Parser;
use contract::message::{Claim, Description, Need, Needs, PassKind};
use contract::samples::Recorder;
use contract::{Defaults, Flags, Pass, Program, Run};
use operation::{Operation, Work};
use runtime::DriverKind;
use tokio::task::JoinHandle;

/// Time ways to do blocking work in an async program, and how long its other tasks then wait
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of operations per iteration, each in an async task of its own")))]
#[command(mut_arg("pool", |arg| arg
    .default_value_if("operation", "sleep", "44")
    .hide_default_value(true)
    .help("Number of threads without the main one: workers and threads that may block [default: 8, or 44 with --operation sleep]")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    blocking: BlockingFlags,
    /// Where the driver, which spawns the tasks, runs
    #[arg(long, value_enum, default_value = "spawned", help_heading = "Advanced")]
    driver: DriverKind,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 100, iters: 1000, warmup: 100 };

    fn describe(&self) -> anyhow::Result<Description> {
        self.work.check()?;
        let mut passes = vec![PassKind::main()];
        let mut needs = Needs { bytes: Need::new(4 << 20, 1 << 10), ..Needs::default() };
        if self.driver == DriverKind::Spawned {
            passes.push(neighbours::pass());
            needs = needs + neighbours::needs();
        }
        self.blocking.describe(Description {
            passes,
            needs,
            ..Description::new("blocking-strategies", &self.flags, Claim::UserSwitch)
        })
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let prepare = async |offload| Ok(Batches::new(cli, offload));
    blocking::serve(&cli.blocking, cli.driver, run, prepare, drive)
}

/// The driver: runs a batch in each iteration, and times that.
async fn drive(
    mut batches: Batches,
    mut pass: Pass,
    progress: Option<Arc<Progress>>,
) -> Driven<Batches> {
    let result = async {
        let mut took = Recorder::default();
        while let Some(iteration) = pass.next_iteration() {
            batches.draw(iteration);

            let clock = Instant::now();
            batches.run().await?;
            pass.record(clock.elapsed());

            for returned in batches.verify()? {
                if pass.is_timed() && batches.work.has_length() {
                    took.record(returned);
                }
            }
        }
        pass.add_extra("operation", &took);
        while progress.as_ref().is_some_and(|p| p.wants_more()) {
            batches.draw(0);
            batches.run().await?;
            batches.verify()?;
        }
        Ok(())
    };
    let result = result.await;
    (batches, pass, result)
}

/// Batches of operations, with memory for their results.
struct Batches {
    count: u32,
    work: Work,
    driver: DriverKind,
    offload: Offload,
    operations: Vec<Operation>,
    tasks: Vec<Task>,
    results: Vec<anyhow::Result<u64>>,
}

type Task = JoinHandle<anyhow::Result<u64>>;

impl Batches {
    fn new(cli: &Cli, offload: Offload) -> Self {
        let count = cli.flags.tasks as usize;
        Batches {
            count: cli.flags.tasks,
            work: cli.work,
            driver: cli.driver,
            offload,
            operations: Vec::with_capacity(count),
            tasks: Vec::with_capacity(count),
            results: Vec::with_capacity(count),
        }
    }

    fn draw(&mut self, batch: u64) {
        self.work.draw(batch, self.count, &mut self.operations);
    }

    /// The timed part: spawns a task for each operation, and awaits them all.
    async fn run(&mut self) -> anyhow::Result<()> {
        for &operation in &self.operations {
            let offload = self.offload.clone();
            self.tasks
                .push(tokio::spawn(async move { offload.run(move || operation.run()).await? }));
        }
        let joined = join_all(take(&mut self.tasks), take(&mut self.results));
        (self.tasks, self.results) = match self.driver {
            DriverKind::Spawned => joined.await,
            DriverKind::BlockOn => {
                runtime::join(tokio::spawn(async { anyhow::Ok(joined.await) })).await?
            }
        };
        Ok(())
    }

    /// Checks what each operation returned, and returns that.
    fn verify(&mut self) -> anyhow::Result<Vec<u64>> {
        let results = self.operations.iter().zip(self.results.drain(..)).enumerate();
        let checked = results.map(|(k, (operation, result))| {
            let checked = result.and_then(|returned| operation.check(returned).map(|()| returned));
            checked.with_context(|| format!("task {k}"))
        });
        checked.collect()
    }
}

/// Awaits tasks, and returns both vectors for the next batch.
async fn join_all(
    mut tasks: Vec<Task>,
    mut results: Vec<anyhow::Result<u64>>,
) -> (Vec<Task>, Vec<anyhow::Result<u64>>) {
    for task in tasks.drain(..) {
        results.push(runtime::join(task).await);
    }
    (tasks, results)
}
