//! A token travels through N async tasks chained by pipes, on io_uring.
//!
//! One iteration: the driver writes a byte into the first link; each task reads it, adds one, and
//! writes it into the next link; the driver reads it from the last link. That is N + 1 hops. The
//! driver is a task like the others, and all of them run on one thread. With `--bytes` a token has
//! more of them, of which each task reads all before it writes any.
//!
//! Timed: what each hop takes of the executor and of the kernel. A task hands a read or a write
//! over, and goes on when it is complete; when no task can go on, one io_uring_enter submits all
//! that was handed over and waits for what completes. Of a hop these are a write and the read of
//! the next task. Left out: creating and awaiting the tasks, the check of the bytes, and all
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

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{Chain, Link, Mode};
use harness::order::Order;
use harness::payload::{Pattern, Payload};
use harness::placement::{Layout, Place};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::{Post, Wiring};
use harness::{BadUsage, Program, Session, machine, record};
use serde::Serialize;

use executor::{Executor, Sink, Source, Token, yield_now};
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
    payload: Payload,
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
    /// hands its read over once instead of once for each token, and copies what came out of the
    /// buffers. Needs Linux 6.7 for pipes and 6.0 for socket pairs
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
    let multishot = cli.multishot.then_some((transport, cli.payload));
    let shape = Shape::of(cli.setup, cli.run.tasks, cli.chain.tokens, multishot);
    let demand = Demand::links(transport)
        + shape.demand()
        + cli.payload.demand(cli.chain.tokens)
        + cli.touch.demand();
    cli.fault.check(cli.run.tasks)?;
    session.carries(cli.chain.tokens);
    session.hands_over(cli.payload.of(cli.chain.tokens));
    session.runs_on(cli.executor.describe());
    session.require(&demand)?;
    cli.chain.check_room_along(cli.run.tasks, cli.payload)?;
    match cli.payload.is_a_byte() {
        true => on_executor(cli, session, &demand, shape, [0u8; 1]),
        false => {
            // Written, so that it is resident before anything is timed.
            let token = vec![u8::MAX; cli.payload.size()].into_boxed_slice();
            on_executor(cli, session, &demand, shape, token)
        }
    }
}

/// Runs the chain, with tokens of this kind, on the executor that was asked for.
#[cfg(feature = "compio")]
fn on_executor<T: compio::Buffer>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    shape: Shape,
    token: T,
) -> anyhow::Result<()> {
    let ring = shape.open(demand)?;
    match cli.executor {
        Kind::Ring => {
            let executor = Ring::new(ring, shape.multishot)?;
            run(cli, session, demand, &executor, token)
        }
        Kind::Compio => {
            // It was opened to learn whether it can be; this one is compio's.
            drop(ring);
            run(cli, session, demand, &compio::Compio::new(shape)?, token)
        }
    }
}

/// Runs the chain, with tokens of this kind, on the only executor.
#[cfg(not(feature = "compio"))]
fn on_executor<T: Token>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    shape: Shape,
    token: T,
) -> anyhow::Result<()> {
    let executor = Ring::new(shape.open(demand)?, shape.multishot)?;
    run(cli, session, demand, &executor, token)
}

/// Runs the chain on an executor, with the work that its tasks do at each hop.
fn run<T: Token>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    executor: &impl Executor<T>,
    token: T,
) -> anyhow::Result<()> {
    let outcome = match cli.touch.is_none() {
        true => executor.block_on(brigade::<(), T>(cli, session, demand, executor, token)),
        false => executor.block_on(brigade::<WorkingSet, T>(
            cli, session, demand, executor, token,
        )),
    };
    outcome.context("cannot wait for completions (io_uring_enter)")?
}

/// Builds the chain, has it driven, and takes it down.
async fn brigade<W: Work, T: Token>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    executor: &impl Executor<T>,
    token: T,
) -> anyhow::Result<()> {
    let (n, tokens, payload) = (cli.run.tasks, cli.chain.tokens, cli.payload);
    let mut tasks = Vec::new();
    let mut sent = 0;
    let result = match form::<W, T, _>(cli, demand, executor, &token, &mut tasks).await {
        Err(e) => Err(e),
        Ok(mut ends) => {
            let mut laps = session.laps();
            let counter = executor.clone();
            let sent_out = vec![token; tokens as usize];
            let driver = executor.spawn(async move {
                let result = drive(&counter, &mut ends, sent_out, &mut laps, n, payload).await;
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
async fn form<W: Work, T: Token, E: Executor<T>>(
    cli: &Cli,
    demand: &Demand,
    executor: &E,
    token: &T,
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
        let (token, work) = (token.clone(), W::new(cli.touch));
        let task = match cli.fault.of(place) {
            None => executor.spawn(pass_on(upstream, downstream, token, work, arrival)),
            Some(ending) => executor.spawn(faulty::pass_on(
                upstream, downstream, token, arrival, ending,
            )),
        };
        tasks.push((place, task));
    }
    while !muster.complete()? {
        yield_now().await;
    }
    Ok(wiring.ends())
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the end of file.
async fn pass_on<T: Token>(
    mut upstream: impl Source<T>,
    mut downstream: impl Sink<T>,
    mut token: T,
    mut work: impl Work,
    arrival: Arrival,
) -> anyhow::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    while upstream.read(&mut token).await? {
        work.work();
        let bytes = token.bytes();
        bytes[0] = bytes[0].wrapping_add(1);
        downstream.write(&mut token).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that. What is sent and what is taken
/// back share memory.
async fn drive<T: Token>(
    executor: &impl Executor<T>,
    (first, last): &mut (impl Sink<T>, impl Source<T>),
    mut tokens: Vec<T>,
    laps: &mut Laps,
    tasks: u32,
    payload: Payload,
) -> anyhow::Result<()> {
    let pattern = Pattern::new(payload);
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;
        for (k, token) in tokens.iter_mut().enumerate() {
            let sent = pattern.token(start.wrapping_add(k as u8));
            token.bytes().copy_from_slice(sent);
        }
        let before = executor.waits();

        let clock = Instant::now();
        for token in &mut tokens {
            first.write(token).await?;
        }
        for token in &mut tokens {
            ensure!(last.read(token).await?, "the chain ended early");
        }
        laps.record(clock.elapsed());

        if let Some((now, before)) = executor.waits().zip(before) {
            laps.waited(now.since(before));
        }
        for (k, token) in tokens.iter_mut().enumerate() {
            let number = start.wrapping_add(k as u8);
            pattern.verify_token(k, token.bytes(), number, tasks)?;
        }
    }
    Ok(())
}
