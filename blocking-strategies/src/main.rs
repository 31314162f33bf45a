//! Strategies for work that blocks, in an async runtime.
//!
//! One iteration: a batch of N operations, each in a Tokio task of its own; a task on the same runtime
//! spawns them one after the other and awaits them all. `--operation` says what an operation does
//! (`operation.rs`), `--strategy` where it is done (`lib/blocking`).
//!
//! Timed: the N calls of `tokio::spawn`, the operations, and the N joins. Left out: drawing the
//! operations, and the check of what each returned.
//!
//! All strategies have the same number of threads besides the main one: workers alone for `direct`, else
//! up to four workers and others that may block. The program counts them at the end.
//!
//! The pass `neighbours` times the same batches beside a heartbeat and an echo on the same runtime, which
//! take CPU time from them.
//!
//! Not to be taken for the latency or the cost of an operation: operations run side by side, on as many
//! CPUs as there are.

mod operation;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use blocking::{BlockingFlags, NeighbourFlags, Offload, Progress, Threads};
use chain::FaultFlags;
use clap::Parser;
use contract::message::{Claim, Description, Need, Needs, PassKind};
use contract::samples::Recorder;
use contract::{Defaults, Flags, Pass, Program, Run};
use operation::{Operation, Work};
use runtime::Driven;
use threads::Placement;
use tokio::task::JoinHandle;

/// Time what a Tokio runtime does with work that blocks, and what that does to its other tasks
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    blocking: BlockingFlags,
    /// Threads besides the main one: workers alone for direct, else up to four workers (at most half) and
    /// others that may block [default: 8, or 44 for --operation sleep]
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_default_value = true, default_value = "8", default_value_if("operation", "sleep", "44"), value_parser = clap::value_parser!(u32).range(2..=32768))]
    pool: u32,
    /// Layout of the threads over the CPUs
    #[arg(long, value_enum, default_value = "free", help_heading = "Advanced")]
    placement: Placement,
    #[command(flatten)]
    neighbours: NeighbourFlags,
    #[command(flatten)]
    fault: FaultFlags,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 100, iters: 1000, warmup: 100 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        self.work.check()?;
        self.fault.check(self.flags.tasks)?;
        let own = Needs { bytes: Need::new(4 << 20, 1 << 10), ..Needs::default() };
        self.threads()?.describe(Description {
            passes: vec![PassKind::main(), NeighbourFlags::pass()],
            needs: own + NeighbourFlags::needs(),
            ..Description::new("blocking-strategies", &self.flags, Claim::UserSwitch)
        })
    }
}

impl Cli {
    fn threads(&self) -> anyhow::Result<Threads> {
        self.blocking.divide(self.pool, self.placement)
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let batches = async |offload| Ok(Batches::new(cli, offload));
    blocking::serve(&cli.threads()?, run, cli.neighbours, batches, drive)
}

/// The driver: runs a batch in each iteration, and times that.
async fn drive(
    mut batches: Batches,
    mut pass: Pass,
    progress: Option<Arc<Progress>>,
) -> Driven<Batches> {
    let result = async {
        let mut took = batches.work.has_length().then(Recorder::default);
        while let Some(iteration) = pass.next_iteration() {
            batches.draw(iteration);

            let clock = Instant::now();
            batches.run().await;
            pass.record(clock.elapsed());

            batches.verify(took.as_mut().filter(|_| pass.is_timed()))?;
        }
        let took = took.and_then(|took| took.distribution());
        pass.extra.extend(took.map(|took| ("operation".to_owned(), took)));
        while progress.as_ref().is_some_and(|p| p.wants_more()) {
            batches.draw(0);
            batches.run().await;
            batches.verify(None)?;
        }
        Ok(())
    };
    let result = result.await;
    (batches, pass, result)
}

/// Batches of operations, with room for their results.
struct Batches {
    count: u32,
    work: Work,
    fault: FaultFlags,
    offload: Offload,
    operations: Vec<Operation>,
    tasks: Vec<JoinHandle<anyhow::Result<u64>>>,
    results: Vec<anyhow::Result<u64>>,
}

impl Batches {
    fn new(cli: &Cli, offload: Offload) -> Self {
        let room = cli.flags.tasks as usize;
        Batches {
            count: cli.flags.tasks,
            work: cli.work,
            fault: cli.fault,
            offload,
            operations: Vec::with_capacity(room),
            tasks: Vec::with_capacity(room),
            results: Vec::with_capacity(room),
        }
    }

    fn draw(&mut self, batch: u64) {
        let (work, fault) = (self.work, &self.fault);
        work.draw(batch, self.count, fault, &mut self.operations);
    }

    /// What is timed: spawns a task for each operation, and awaits them all.
    async fn run(&mut self) {
        for &operation in &self.operations {
            let offload = self.offload.clone();
            self.tasks
                .push(tokio::spawn(async move { offload.run(move || operation.run()).await? }));
        }
        for task in self.tasks.drain(..) {
            self.results.push(runtime::join(task).await);
        }
    }

    /// Checks what each operation returned, and takes how long it took.
    fn verify(&mut self, mut took: Option<&mut Recorder>) -> anyhow::Result<()> {
        let results = self.results.drain(..);
        for (k, (operation, result)) in self.operations.iter().zip(results).enumerate() {
            let checked = result.and_then(|returned| operation.check(returned).map(|()| returned));
            let returned = checked.with_context(|| format!("task {k}"))?;
            if let Some(took) = &mut took {
                took.record(returned);
            }
        }
        Ok(())
    }
}
