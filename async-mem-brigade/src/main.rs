//! A number travels through N Tokio tasks chained by channels: no I/O, no system call.
//!
//! One iteration: the driver sends a number into the first channel; each task receives it, adds
//! one, and sends it into the next channel; the driver receives it from the last one. That is
//! N + 1 hops, each a send, a wake-up by the scheduler and a receive. The driver is a spawned task
//! like the others.
//!
//! Timed: those channel operations and the scheduler's work to run the next task. Left out:
//! creating and awaiting the tasks, the check of the number, and all bookkeeping.
//!
//! On the current-thread scheduler this is what a switch between async tasks costs with a channel
//! in between. On the multi-thread scheduler tasks may move between CPUs, and the time per hop
//! then contains that.

mod faulty;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Parser;
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::Demand;
use harness::placement::{Layout, Place};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::{BadUsage, Program, Session, link_ended};
use runtime::{Flavor, Plan, Workers};
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, yield_now};

/// Pass a number through a chain of Tokio tasks joined by channels, and time it
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    /// How many numbers are in flight at once
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tokens: u32,
    /// How many numbers each channel holds
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    capacity: u32,
    /// Tokio's scheduler
    #[arg(long, value_enum, default_value = "current-thread")]
    flavor: Flavor,
    #[command(flatten)]
    #[serde(flatten)]
    workers: Workers,
    #[command(flatten)]
    #[serde(flatten)]
    fault: TestFault,
}

impl Program for Cli {
    fn run(&self) -> &Run {
        &self.run
    }
}

fn main() -> ExitCode {
    harness::main(measure)
}

fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    let plan = Plan::new(cli.flavor, cli.workers, cli.place.confine(Layout::Chain)?)?;
    cli.fault.check(cli.run.tasks)?;
    session.carries(cli.tokens);
    session.runs_on(plan.describe());
    check_room(cli)?;
    session.require(&(Demand::channel_tasks() + Demand::tokens(cli.tokens) + plan.demand()))?;
    plan.build(false)?.block_on(brigade(cli, session))
}

/// The driver sends all tokens before it takes the first one back: with more than the channels
/// hold it would wait for ever.
fn check_room(cli: &Cli) -> anyhow::Result<()> {
    let most = (u64::from(cli.run.tasks) + 1) * u64::from(cli.capacity);
    if u64::from(cli.tokens) > most {
        return Err(BadUsage::new(format!(
            "--tokens {} is more than the channels hold (at most {most}): lower it, or raise --capacity",
            cli.tokens
        )));
    }
    Ok(())
}

/// Builds the chain, has it driven, and takes it down.
async fn brigade(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    let (n, tokens) = (cli.run.tasks, cli.tokens);
    let mut tasks = Vec::new();
    let mut sent = 0;
    let result = match form(cli, &mut tasks).await {
        Err(e) => Err(e),
        Ok(mut ends) => {
            let mut laps = session.laps();
            let driver = tokio::spawn(async move {
                let result = drive(&mut ends, &mut laps, n, tokens).await;
                Ok((ends, laps, result))
            });
            runtime::join(driver)
                .await
                .and_then(|(_ends, laps, result)| {
                    sent = laps.begun() * u64::from(tokens);
                    session.timed(laps);
                    result.map(|()| session.at_rest())
                })
        }
    };
    // Both ends of the chain are dropped now, and its end runs down it.
    let mut tally = Tally::default();
    for task in tasks {
        tally.add(runtime::join(task).await);
    }
    tally.settle(result, n, sent)
}

/// Spawns the tasks and waits until each has run. Returns the end that the driver sends to and
/// the end that it receives from.
async fn form(
    cli: &Cli,
    tasks: &mut Vec<JoinHandle<anyhow::Result<u64>>>,
) -> anyhow::Result<(Sender<usize>, Receiver<usize>)> {
    let mut muster = Muster::of(cli.run.tasks);
    let (first, mut upstream) = channel(cli.capacity as usize);
    for k in 0..cli.run.tasks {
        let (downstream, next) = channel(cli.capacity as usize);
        let arrival = muster.arrival();
        tasks.push(match cli.fault.of(k) {
            None => tokio::spawn(pass_on(upstream, downstream, arrival)),
            Some(ending) => tokio::spawn(faulty::pass_on(upstream, downstream, arrival, ending)),
        });
        upstream = next;
    }
    while !muster.complete()? {
        yield_now().await;
    }
    Ok((first, upstream))
}

/// A task of the chain: takes a number, adds one, hands it on, until the channel ends.
async fn pass_on(
    mut upstream: Receiver<usize>,
    downstream: Sender<usize>,
    arrival: Arrival,
) -> anyhow::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    while let Some(number) = upstream.recv().await {
        downstream.send(number + 1).await.map_err(link_ended)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive(
    (first, last): &mut (Sender<usize>, Receiver<usize>),
    laps: &mut Laps,
    tasks: u32,
    tokens: u32,
) -> anyhow::Result<()> {
    let mut received = vec![0usize; tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as usize;

        let clock = Instant::now();
        for k in 0..tokens {
            first
                .send(start + k as usize)
                .await
                .context("the chain ended early")?;
        }
        for token in &mut received {
            *token = last.recv().await.context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        for (k, &token) in received.iter().enumerate() {
            let expected = start + k + tasks as usize;
            ensure!(
                token == expected,
                "token {k} came out as {token}, expected {expected}"
            );
        }
    }
    Ok(())
}
