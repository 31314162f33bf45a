//! What to do with work that blocks, in an async runtime.
//!
//! One iteration: a batch of N operations, each in a Tokio task of its own, spawned one after the
//! other by a task that runs on the same runtime, and awaited together. `--operation` says what an
//! operation does (`operation.rs`), `--strategy` where it does it:
//! - `direct`: in the task, on the worker that polls it;
//! - `permit`: there too, when the task has a permit of a semaphore, and by `block_in_place`, which
//!   gives the worker's other tasks to another thread meanwhile;
//! - `dispatch`: on a fixed pool of threads (`runtime/src/pool.rs`), whose answer comes by a oneshot;
//! - `spawn-blocking`: on Tokio's own pool.
//!
//! Timed: the N calls of `tokio::spawn`, the operations, and the N joins. Left out: making the
//! operations with their random numbers, and checking what each returned.
//!
//! All strategies have the same number of threads besides the main one, which only waits: workers
//! alone for `direct`, else up to four workers and others that may block. Nobody can start more, no
//! thread ends before the run does, and the program counts them then.
//!
//! After the timed batches follow two untimed passes with neighbours (`runtime/src/neighbours.rs`), first alone,
//! then beside the same batches again: how late a heartbeat of the same runtime is, and how long an
//! echo takes. They are apart because they take CPU time from the batches; how long those then take
//! is a distribution of its own.
//!
//! The time of a batch divided by N is no latency of an operation, and no cost either: operations run
//! side by side, on as many CPUs as there are.

extern crate old_runtime as runtime;

mod operation;

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Command, Parser};
use harness::args::{Defaults, Run};
use harness::laps::Laps;
use harness::limits::Demand;
use harness::placement::{Layout, Place};
use harness::recorder::Recorder;
use harness::test_fault::TestFault;
use harness::timer_slack::TimerSlack;
use harness::{BadUsage, Program, Session, signals};
use operation::{Operation, Work};
use runtime::blocking::Strategy;
use runtime::neighbours::{BEATS, Neighbours, Progress};
use runtime::pool::{Bound, Pool};
use runtime::{Flavor, Plan, Workers};
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};

/// Time what a Tokio runtime does with work that blocks, and what that does to its other tasks
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    /// Where each operation is done
    #[arg(long, value_enum, default_value = "direct")]
    strategy: Strategy,
    #[command(flatten)]
    #[serde(flatten)]
    work: Work,
    /// How many threads there may be in all besides the main one: workers alone for direct, else up to
    /// four workers (no more than half) and others that may block [default: 8, or 44 for --operation
    /// sleep]
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_default_value = true, default_value = "8", default_value_if("operation", "sleep", "44"), value_parser = clap::value_parser!(u32).range(2..=32768))]
    threads: u32,
    /// How many operations may wait for a thread of the pool of --strategy dispatch [default:
    /// unbounded]
    #[arg(long, value_enum)]
    queue: Option<Bound>,
    #[command(flatten)]
    #[serde(flatten)]
    neighbours: Neighbours,
    #[command(flatten)]
    #[serde(flatten)]
    timer_slack: TimerSlack,
    #[command(flatten)]
    #[serde(flatten)]
    fault: TestFault,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults {
        tasks: 100,
        iters: 1000,
        warmups: 100,
    };

    fn run(&self) -> &Run {
        &self.run
    }

    /// `--threads`, elsewhere another word for the tasks, is a flag of its own here.
    fn adapt(command: Command) -> Command {
        command.mut_arg("tasks", |tasks| {
            tasks
                .visible_alias(None)
                .visible_alias("batch")
                .default_value_if("operation", "sleep", "200")
                .hide_default_value(true)
                .help("How many operations a batch has, each in a task of its own [default: 100, or 200 for --operation sleep]")
        })
    }
}

impl Cli {
    fn check(&self) -> anyhow::Result<()> {
        self.work.check()?;
        self.fault.check(self.run.tasks)?;
        if self.queue.is_some() && self.strategy != Strategy::Dispatch {
            return Err(BadUsage::new(
                "--queue: only a pool of its own has one: use --strategy dispatch",
            ));
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    harness::main(measure)
}

fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    cli.check()?;
    let threads = cli.strategy.divide(cli.threads);
    let seats = cli.place.confine(Layout::Chain)?;
    cli.timer_slack.set()?;
    let workers = Workers {
        workers: Some(threads.workers),
    };
    let plan = Plan::new(Flavor::MultiThread, workers, seats.clone())?;
    let plan = plan.blocking(threads.of_runtime);
    session.runs_on(plan.describe());
    let beside = threads.demand_of_pool() + Neighbours::demand();
    session.require(&(Demand::bare_tasks() + plan.demand() + beside))?;
    let begun = Instant::now();
    let runtime = plan.build(true)?;
    let stage = Stage {
        cli,
        session,
        runtime: &runtime,
        begun,
    };
    match cli.strategy {
        Strategy::Direct => stage.play(|operation| async move { operation.run() }),
        Strategy::Permit => {
            let permits = Arc::new(Semaphore::new(threads.of_runtime as usize));
            stage.play(move |operation| {
                let permits = Arc::clone(&permits);
                async move {
                    let _permit = permits.acquire().await?;
                    block_in_place(|| operation.run())
                }
            })
        }
        Strategy::Dispatch => {
            let bound = cli.queue.unwrap_or(Bound::Unbounded);
            let pool = Pool::start(threads.of_pool, bound, &seats)?;
            let queue = pool.queue();
            let outcome = stage.play(move |operation| {
                let queue = queue.clone();
                async move { queue.dispatch(move || operation.run()).await? }
            });
            outcome.and(pool.join())
        }
        Strategy::SpawnBlocking => stage.play(|operation| async move {
            runtime::join(spawn_blocking(move || operation.run())).await
        }),
    }
}

/// A runtime that is ready, and what is to happen on it.
struct Stage<'a> {
    cli: &'a Cli,
    session: &'a mut Session,
    runtime: &'a Runtime,
    begun: Instant,
}

impl Stage<'_> {
    /// Both passes, with every operation by `strategy`, and the look at what is there then.
    fn play<S, F>(self, strategy: S) -> anyhow::Result<()>
    where
        S: Fn(Operation) -> F + Send + Sync + 'static,
        F: Future<Output = anyhow::Result<u64>> + Send + 'static,
    {
        let Stage {
            cli,
            session,
            runtime,
            begun,
        } = self;
        session.built(begun.elapsed());
        let mut batches = Batches::new(cli, strategy);
        let mut laps = session.laps();
        let driver = runtime.spawn(async move {
            let result = time(&mut laps, &mut batches).await;
            Ok((laps, batches, result))
        });
        let (laps, mut batches, result) = runtime.block_on(runtime::join(driver))?;
        session.timed(laps);
        if let Some(took) = batches.took.take() {
            session.distribution("operation", &took);
        }
        result?;
        let iters = cli.run.iters;
        let beside = cli.neighbours.listen(session, runtime, |progress| {
            runtime.spawn(async move { repeat(&mut batches, iters, &progress).await })
        })?;
        if let Some(beside) = beside {
            session.distribution("batch_beside", &beside);
        }
        if let Some(threads) = session.threads_are_all_there() {
            ensure!(
                threads <= u64::from(cli.threads),
                "there are {threads} threads besides the main one, where --threads allows {}",
                cli.threads
            );
        }
        session.at_rest();
        Ok(())
    }
}

/// Runs one batch in each lap and times that.
async fn time<S, F>(laps: &mut Laps, batches: &mut Batches<S>) -> anyhow::Result<()>
where
    S: Fn(Operation) -> F,
    F: Future<Output = anyhow::Result<u64>> + Send + 'static,
{
    while let Some(lap) = laps.advance()? {
        batches.draw(lap);
        let clock = Instant::now();
        batches.run().await;
        let elapsed = clock.elapsed();
        batches.check()?;
        laps.record(elapsed);
    }
    Ok(())
}

/// Batches of operations, with room for what becomes of them.
struct Batches<S> {
    count: u32,
    work: Work,
    fault: TestFault,
    strategy: S,
    operations: Vec<Operation>,
    tasks: Vec<JoinHandle<anyhow::Result<u64>>>,
    outcomes: Vec<anyhow::Result<u64>>,
    /// How long the timed operations took, each by itself, where they know.
    took: Option<Recorder>,
    timed: std::ops::Range<u64>,
    batch: u64,
}

impl<S> Batches<S> {
    fn new(cli: &Cli, strategy: S) -> Self {
        let Run {
            tasks,
            iters,
            warmups,
            ..
        } = cli.run;
        let room = tasks as usize;
        let took = || Recorder::new(iters.saturating_mul(u64::from(tasks)));
        Batches {
            count: tasks,
            work: cli.work,
            fault: cli.fault,
            strategy,
            operations: Vec::with_capacity(room),
            tasks: Vec::with_capacity(room),
            outcomes: Vec::with_capacity(room),
            took: cli.work.has_length().then(took),
            timed: warmups..warmups.saturating_add(iters),
            batch: 0,
        }
    }

    /// Makes the operations of a batch.
    fn draw(&mut self, batch: u64) {
        self.batch = batch;
        self.work
            .draw(batch, self.count, &self.fault, &mut self.operations);
    }

    /// What is timed: spawns a task for each operation, and awaits them all.
    async fn run<F>(&mut self)
    where
        S: Fn(Operation) -> F,
        F: Future<Output = anyhow::Result<u64>> + Send + 'static,
    {
        for &operation in &self.operations {
            self.tasks.push(tokio::spawn((self.strategy)(operation)));
        }
        for task in self.tasks.drain(..) {
            self.outcomes.push(runtime::join(task).await);
        }
    }

    /// Whether each operation came to what it should.
    fn check(&mut self) -> anyhow::Result<()> {
        let timed = self.timed.contains(&self.batch);
        let mut took = self.took.as_mut().filter(|_| timed);
        let outcomes = self.outcomes.drain(..);
        for (k, (operation, outcome)) in self.operations.iter().zip(outcomes).enumerate() {
            let checked = outcome.and_then(|returned| {
                operation.check(returned)?;
                Ok(returned)
            });
            let returned = checked.with_context(|| format!("task {k}"))?;
            if let Some(took) = &mut took {
                took.record(Duration::from_nanos(returned));
            }
        }
        Ok(())
    }
}

/// Runs batches beside the neighbours, and takes how long each takes there.
async fn repeat<S, F>(
    batches: &mut Batches<S>,
    iters: u64,
    progress: &Progress,
) -> anyhow::Result<Recorder>
where
    S: Fn(Operation) -> F,
    F: Future<Output = anyhow::Result<u64>> + Send + 'static,
{
    let mut took = Recorder::new(iters);
    for batch in 0.. {
        let enough = batch >= iters && progress.beats() >= BEATS;
        if enough || progress.is_over() || signals::received().is_some() {
            break;
        }
        batches.draw(batch);
        let clock = Instant::now();
        batches.run().await;
        let elapsed = clock.elapsed();
        batches.check()?;
        took.record(elapsed);
    }
    Ok(took)
}
