//! A token travels through N async tasks chained by pipes, on io_uring.
//!
//! One iteration: the driver writes a byte into the first link; each task reads it, adds one, and
//! writes it into the next link; the driver reads it from the last link. That is N + 1 hops. The
//! driver is a task like the others, and all of them run on one thread.
//!
//! Timed: what each hop takes of the executor and of the kernel. A task hands a read or a write
//! over, and goes on when it is complete; when no task can go on, one io_uring_enter submits all
//! that was handed over and waits for what completes. Of a hop these are a write and the read of
//! the next task. Left out: creating and awaiting the tasks, the check of the byte, and all
//! bookkeeping.
//!
//! `--executor ring` is a page of code (`ring/mod.rs`) that does nothing else: the least that tasks
//! on io_uring cost, and no runtime that a server could be written with. `compio` is one.
//! The time per hop is not the price of switching tasks: see `async-mem-brigade` for that.

#[cfg(feature = "compio")]
mod compio;
mod executor;
mod faulty;
mod ring;
mod setup;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{self, Chain, Link, Mode};
use harness::order::Order;
use harness::placement::{Layout, Place};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::{Post, Wiring};
use harness::{BadUsage, Program, Session, machine, record};
use serde::Serialize;

use executor::{Executor, Sink, Source, yield_now};
use ring::Ring;
use setup::{Setup, Shape};

/// Pass a byte through a chain of async tasks on io_uring, and time it
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    #[command(flatten)]
    #[serde(flatten)]
    chain: Chain,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    #[command(flatten)]
    #[serde(flatten)]
    order: Order,
    #[command(flatten)]
    #[serde(flatten)]
    touch: Touch,
    /// What the tasks run on, all of them on one thread
    #[arg(long, value_enum, default_value = "ring")]
    executor: Kind,
    /// The mode of the ring
    #[arg(long, value_enum, default_value = "deferred")]
    setup: Setup,
    /// Read by operations that stay, and put what comes into buffers of the ring's own: a task
    /// hands its read over once instead of once for each token. Needs Linux 6.7 for pipes and 6.0
    /// for socket pairs
    #[arg(long)]
    multishot: bool,
    #[command(flatten)]
    #[serde(flatten)]
    fault: TestFault,
}

/// Executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// a run queue and a ring, in a page of this program
    Ring,
    /// the runtime of that name; its own choice would be --setup plain
    #[cfg(feature = "compio")]
    Compio,
}

impl Program for Cli {
    fn run(&self) -> &Run {
        &self.run
    }
}

impl Kind {
    /// How the record names it.
    fn describe(self) -> record::Runtime {
        let name = match self {
            Kind::Ring => "io-uring",
            #[cfg(feature = "compio")]
            Kind::Compio => "compio",
        };
        record::Runtime {
            name: name.to_owned(),
            version: machine::runtime_version(name),
            flavor: "current-thread".to_owned(),
            workers: 1,
        }
    }
}

fn main() -> ExitCode {
    harness::main(measure)
}

fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    if cli.multishot && cli.executor != Kind::Ring {
        return Err(BadUsage::new("--multishot: only --executor ring does that"));
    }
    cli.place.confine(Layout::Single)?;
    let transport = cli.chain.transport;
    let multishot = cli.multishot.then_some(transport);
    let shape = Shape::of(cli.setup, cli.run.tasks, cli.chain.tokens, multishot);
    let demand = Demand::links(transport) + shape.demand() + cli.touch.demand();
    cli.fault.check(cli.run.tasks)?;
    session.carries(cli.chain.tokens);
    session.runs_on(cli.executor.describe());
    session.require(&demand)?;
    cli.chain.check_room()?;

    let ring = shape.open(&demand)?;
    match cli.executor {
        Kind::Ring => run(cli, session, &demand, &Ring::new(ring, multishot)?),
        #[cfg(feature = "compio")]
        Kind::Compio => {
            // It was opened to learn whether it can be; this one is compio's.
            drop(ring);
            run(cli, session, &demand, &compio::Compio::new(shape)?)
        }
    }
}

/// Runs the chain on an executor, with the work that its tasks do at each hop.
fn run(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    executor: &impl Executor,
) -> anyhow::Result<()> {
    let outcome = match cli.touch.is_none() {
        true => executor.block_on(brigade::<()>(cli, session, demand, executor)),
        false => executor.block_on(brigade::<WorkingSet>(cli, session, demand, executor)),
    };
    outcome.context("cannot wait for completions (io_uring_enter)")?
}

/// Builds the chain, has it driven, and takes it down.
async fn brigade<W: Work>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    executor: &impl Executor,
) -> anyhow::Result<()> {
    let (n, tokens) = (cli.run.tasks, cli.chain.tokens);
    let mut tasks = Vec::new();
    let mut sent = 0;
    let result = match form::<W, _>(cli, demand, executor, &mut tasks).await {
        Err(e) => Err(e),
        Ok(mut ends) => {
            let mut laps = session.laps();
            let counter = executor.clone();
            let driver = executor.spawn(async move {
                let result = drive(&counter, &mut ends, &mut laps, n, tokens).await;
                Ok((ends, laps, result))
            });
            driver.await.and_then(|(_ends, laps, result)| {
                sent = laps.begun() * u64::from(tokens);
                session.timed(laps);
                result.map(|()| session.at_rest())
            })
        }
    };
    // Both ends of the chain are closed now, and the end of file runs down it.
    tasks.sort_unstable_by_key(|(place, _)| *place);
    let mut tally = Tally::default();
    for (_, task) in tasks {
        tally.add(task.await);
    }
    tally.settle(result, n, sent)
}

/// Spawns the tasks, each with its place in the chain, and waits until each has run. Returns the
/// end that the driver writes to and the end that it reads from.
async fn form<W: Work, E: Executor>(
    cli: &Cli,
    demand: &Demand,
    executor: &E,
    tasks: &mut Vec<(u32, E::Task<u64>)>,
) -> anyhow::Result<(E::Writer, E::Reader)> {
    let n = cli.run.tasks;
    let mut muster = Muster::of(n);
    let link = |k| {
        let made = cli.chain.transport.link(Mode::Blocking);
        let made = made.and_then(|Link { reader, writer }| {
            Ok((executor.reader(reader)?, executor.writer(writer)?))
        });
        made.map_err(|e| limits::explain("make a link", k, n, e, demand))
    };
    let mut wiring = Wiring::new(cli.order, n, link)?;
    while let Some(post) = wiring.next_task() {
        let Post {
            place,
            upstream,
            downstream,
        } = post?;
        let arrival = muster.arrival();
        let task = match cli.fault.of(place) {
            None => {
                let work = W::new(cli.touch);
                executor.spawn(pass_on(upstream, downstream, work, arrival))
            }
            Some(ending) => executor.spawn(faulty::pass_on(upstream, downstream, arrival, ending)),
        };
        tasks.push((place, task));
    }
    while !muster.complete()? {
        yield_now().await;
    }
    Ok(wiring.ends())
}

/// A task of the chain: takes a byte, adds one, hands it on, until the end of file.
async fn pass_on(
    mut upstream: impl Source,
    mut downstream: impl Sink,
    mut work: impl Work,
    arrival: Arrival,
) -> anyhow::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    while let Some(byte) = upstream.read().await? {
        work.work();
        downstream.write(byte.wrapping_add(1)).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive(
    executor: &impl Executor,
    (first, last): &mut (impl Sink, impl Source),
    laps: &mut Laps,
    tasks: u32,
    tokens: u32,
) -> anyhow::Result<()> {
    let mut received = vec![0u8; tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;
        let before = executor.waits();

        let clock = Instant::now();
        for k in 0..tokens {
            first.write(start.wrapping_add(k as u8)).await?;
        }
        for token in &mut received {
            let byte = last.read().await?;
            *token = byte.context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        if let Some((now, before)) = executor.waits().zip(before) {
            laps.waited(now.since(before));
        }
        links::verify(&received, start, tasks)?;
    }
    Ok(())
}
