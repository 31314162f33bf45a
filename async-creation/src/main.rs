//! What it takes to create Tokio tasks.
//!
//! One iteration: spawn N tasks, one after the other, each of which returns its own number at
//! once. Timed: the N calls of `tokio::spawn` (allocating the task and queueing it), from a task
//! that runs on the same runtime. Left out: awaiting them, which follows.
//!
//! The same number of iterations is then repeated with one more clock reading for each task, which
//! gives two distributions, apart so that those readings (some 20 ns each, no small part of a
//! spawn) burden no sample:
//! - `creation`: one call of `spawn`, with one reading;
//! - `spawn_to_body`: from that call to the first instruction of the task's body. On the
//!   current-thread scheduler no task runs before the last one is spawned, and this shows it.
//!
//! The memory is that of N tasks alive at once that have nothing to wait for but their end.
//!
//! `--floor` leaves out the runtime: see `floor.rs`, which has a loop of its own. So has `--sleep`, with
//! tasks that sleep and are joined within the timed span: see `sleepers.rs`.

extern crate old_runtime as runtime;

mod floor;
mod sleepers;

use std::future::pending;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Parser;
use harness::args::{Defaults, Run};
use harness::delays::Delays;
use harness::laps::Laps;
use harness::limits::Demand;
use harness::placement::{Layout, Place};
use harness::ready::Muster;
use harness::sleepers::Sleep;
use harness::timer_slack::TimerSlack;
use harness::{Program, Session, signals};
use runtime::{Flavor, Plan, Workers};
use serde::Serialize;
use tokio::task::yield_now;

/// Time the creation of Tokio tasks
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    /// Tokio's scheduler
    #[arg(long, value_enum, default_value = "multi-thread")]
    flavor: Flavor,
    #[command(flatten)]
    #[serde(flatten)]
    workers: Workers,
    /// Create futures in boxes, each polled once and dropped, with no runtime: the least that a task
    /// can cost. Nothing could wake them
    #[arg(long, conflicts_with_all = ["flavor", "workers", "sleep"])]
    floor: bool,
    #[command(flatten)]
    #[serde(flatten)]
    sleep: Sleep,
    #[command(flatten)]
    #[serde(flatten)]
    timer_slack: TimerSlack,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults {
        tasks: 10_000,
        iters: 100,
        warmups: 10,
    };

    fn run(&self) -> &Run {
        &self.run
    }
}

fn main() -> ExitCode {
    harness::main(measure)
}

fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    cli.sleep.check(cli.timer_slack.timer_slack)?;
    cli.timer_slack.set()?;
    if cli.floor {
        cli.place.confine(Layout::Single)?;
        session.require(&Demand::bare_tasks())?;
        return floor::measure(cli, session);
    }
    let plan = Plan::new(cli.flavor, cli.workers, cli.place.confine(Layout::Chain)?)?;
    session.runs_on(plan.describe());
    if let Some(time) = cli.sleep.sleep {
        return sleepers::measure(cli, time, plan, session);
    }
    session.require(&(Demand::bare_tasks() + plan.demand()))?;
    plan.build(false)?.block_on(async {
        let n = cli.run.tasks;
        let mut laps = session.laps();
        let creation = tokio::spawn(async move {
            let result = create(n, &mut laps).await;
            Ok((laps, result))
        });
        let (laps, result) = runtime::join(creation).await?;
        session.timed(laps);
        result?;

        let mut delays = Delays::new(&cli.run);
        let creation = tokio::spawn(async move {
            let result = create_stamped(n, &mut delays).await;
            Ok((delays, result))
        });
        let (delays, result) = runtime::join(creation).await?;
        delays.report(session);
        // Its memory is not the tasks'.
        drop(delays);
        result?;

        hold(n, session).await
    })
}

/// Spawns N tasks in each lap and times that.
async fn create(n: u32, laps: &mut Laps) -> anyhow::Result<()> {
    let mut tasks = Vec::with_capacity(n as usize);
    while let Some(_lap) = laps.advance()? {
        let clock = Instant::now();
        for k in 0..n {
            tasks.push(tokio::spawn(async move { k }));
        }
        laps.record(clock.elapsed());

        for (k, task) in (0..).zip(tasks.drain(..)) {
            let returned = task.await.context("a task died")?;
            ensure!(returned == k, "task {k} returned {returned}");
        }
    }
    Ok(())
}

/// Spawns as many again, reading the clock between the calls and first thing in each task.
async fn create_stamped(n: u32, delays: &mut Delays) -> anyhow::Result<()> {
    let mut tasks = Vec::with_capacity(n as usize);
    while delays.advance() {
        let mut called = Instant::now();
        for _ in 0..n {
            tasks.push(tokio::spawn(async move { called.elapsed() }));
            called = delays.returned(called);
        }
        for task in tasks.drain(..) {
            delays.began(task.await.context("a task died")?);
        }
    }
    Ok(())
}

/// Holds N tasks at once for the look at the memory and the user's command.
async fn hold(n: u32, session: &mut Session) -> anyhow::Result<()> {
    if signals::received().is_some() {
        return Ok(());
    }
    let begun = Instant::now();
    let mut muster = Muster::of(n);
    let mut tasks = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let arrival = muster.arrival();
        tasks.push(tokio::spawn(async move {
            arrival.arrive();
            pending::<()>().await;
        }));
    }
    while !muster.complete()? {
        yield_now().await;
    }
    session.built(begun.elapsed());
    session.at_rest();
    for task in &tasks {
        task.abort();
    }
    for task in tasks {
        let ended = task.await;
        ensure!(
            ended.is_err_and(|e| e.is_cancelled()),
            "a task ended that should have waited"
        );
    }
    Ok(())
}
