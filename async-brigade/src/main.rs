//! A token travels through N Tokio tasks chained by pipes.
//!
//! One iteration: the driver writes a byte into the first link; each task reads it, adds one, and
//! writes it into the next link; the driver reads it from the last link. That is N + 1 hops. The
//! driver is a spawned task like the others: a driver in `block_on` would stand outside the pool
//! of workers, and each iteration would pay for waking its thread.
//!
//! Timed: what each hop takes of Tokio and of the kernel: one write, two reads (the second finds
//! nothing and tells the task to wait), and the runtime's epoll_wait. Left out: creating and
//! awaiting the tasks, the check of the byte, and all bookkeeping.
//!
//! The time per hop is not the price of switching tasks, which needs no system call: see
//! `async-mem-brigade` for that, and `one-thread-brigade --nonblocking` for the same system calls
//! without tasks.

mod faulty;

use std::io;
use std::process::ExitCode;
use std::slice;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{self, Chain, Transport};
use harness::placement::{Layout, Place};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::{Program, Session};
use runtime::{Flavor, Plan, Workers};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixStream, unix::pipe};
use tokio::task::{JoinHandle, yield_now};

/// Pass a byte through a chain of Tokio tasks joined by pipes, and time it
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
    /// Tokio's scheduler
    #[arg(long, value_enum, default_value = "multi-thread")]
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
    let demand = Demand::links(cli.chain.transport) + Demand::io_tasks() + plan.demand();
    cli.fault.check(cli.run.tasks)?;
    session.carries(cli.chain.tokens);
    session.runs_on(plan.describe());
    session.require(&demand)?;
    cli.chain.check_room()?;

    let runtime = plan.build(true)?;
    match cli.chain.transport {
        Transport::Pipe => runtime.block_on(brigade(cli, session, &demand, || {
            let (writer, reader) = pipe::pipe()?;
            links::pipes::count(&writer);
            Ok((reader, writer))
        })),
        Transport::Socketpair => runtime.block_on(brigade(cli, session, &demand, UnixStream::pair)),
    }
}

/// Builds the chain out of links (the end to read from, the end to write to), has it driven, and
/// takes it down.
async fn brigade<R, W>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    link: impl Fn() -> io::Result<(R, W)>,
) -> anyhow::Result<()>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (n, tokens) = (cli.run.tasks, cli.chain.tokens);
    let mut tasks = Vec::new();
    let mut sent = 0;
    let result = match form(cli, demand, link, &mut tasks).await {
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
    // Both ends of the chain are closed now, and the end of file runs down it.
    let mut tally = Tally::default();
    for task in tasks {
        tally.add(runtime::join(task).await);
    }
    tally.settle(result, n, sent)
}

/// Spawns the tasks and waits until each has run. Returns the end that the driver writes to and
/// the end that it reads from.
async fn form<R, W>(
    cli: &Cli,
    demand: &Demand,
    link: impl Fn() -> io::Result<(R, W)>,
    tasks: &mut Vec<JoinHandle<anyhow::Result<u64>>>,
) -> anyhow::Result<(W, R)>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let n = cli.run.tasks;
    let mut muster = Muster::of(n);
    let link = |k| link().map_err(|e| limits::explain("make a link", k, n, e, demand));
    let (mut upstream, first) = link(0)?;
    for k in 0..n {
        let (next, downstream) = link(k + 1)?;
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

/// A task of the chain: takes a byte, adds one, hands it on, until the end of file.
async fn pass_on<R, W>(mut upstream: R, mut downstream: W, arrival: Arrival) -> anyhow::Result<u64>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    arrival.arrive();
    let mut passed = 0;
    let mut byte = 0u8;
    while upstream.read(slice::from_mut(&mut byte)).await? == 1 {
        byte = byte.wrapping_add(1);
        downstream.write_all(&[byte]).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive<R, W>(
    (first, last): &mut (W, R),
    laps: &mut Laps,
    tasks: u32,
    tokens: u32,
) -> anyhow::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut received = vec![0u8; tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..tokens {
            first.write_all(&[start.wrapping_add(k as u8)]).await?;
        }
        for token in &mut received {
            let read = last.read_exact(slice::from_mut(token)).await;
            read.context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        links::verify(&received, start, tasks)?;
    }
    Ok(())
}
