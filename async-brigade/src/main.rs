//! A token travels through N Tokio tasks chained by pipes.
//!
//! One iteration: the driver writes a byte into the first link; each task reads it, adds one, and
//! writes it into the next link; the driver reads it from the last link. That is N + 1 hops. The
//! driver is a spawned task like the others: a driver in `block_on` would stand outside the pool
//! of workers, and each iteration would pay for waking its thread. With `--bytes` a token has more of
//! them, of which each task reads all before it writes any.
//!
//! Timed: what each hop takes of Tokio and of the kernel: one write, two reads (the second finds
//! nothing and tells the task to wait; see `--read-buffer`), and the runtime's epoll_wait; with
//! `--touch`, what each task does with its memory in between. Left out: creating and awaiting the
//! tasks, the check of the bytes, and all bookkeeping.
//!
//! The time per hop is not the price of switching tasks, which needs no system call: see
//! `async-mem-brigade` for that, and `one-thread-brigade --nonblocking` for the same system calls
//! without tasks.

mod eventfd;
mod faulty;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::ensure;
use clap::Parser;
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{self, Chain, Local, ReadBuffer};
use harness::order::Order;
use harness::payload::{Intake, Parts, Pattern, Payload};
use harness::placement::{Layout, Place};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::{Post, Wiring};
use harness::{Program, Session};
use runtime::{Flavor, Plan, Workers};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixStream, unix::pipe};
use tokio::runtime::{Handle, Runtime};
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
    chain: Chain<Local>,
    #[command(flatten)]
    #[serde(flatten)]
    payload: Payload,
    #[command(flatten)]
    #[serde(flatten)]
    read_buffer: ReadBuffer,
    #[command(flatten)]
    #[serde(flatten)]
    touch: Touch,
    #[command(flatten)]
    #[serde(flatten)]
    order: Order,
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
    let read_size = cli.payload.read_size(cli.read_buffer.size())?;
    let demand = Demand::links(cli.chain.transport)
        + Demand::io_tasks(cli.chain.transport)
        + cli.payload.demand_reading(read_size, cli.chain.tokens)
        + cli.touch.demand()
        + plan.demand();
    cli.fault.check(cli.run.tasks)?;
    session.carries(cli.chain.tokens);
    session.hands_over(cli.payload.of(cli.chain.tokens));
    session.runs_on(plan.describe());
    session.require(&demand)?;
    cli.chain.check_room_along(cli.run.tasks, cli.payload)?;

    let runtime = plan.build(true)?;
    match cli.touch.is_none() {
        true => with::<()>(cli, session, &demand, &runtime, read_size),
        false => with::<WorkingSet>(cli, session, &demand, &runtime, read_size),
    }
}

/// The brigade whose tasks do this work, with tokens and reads of the size that was asked for.
fn with<T: Work>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    runtime: &Runtime,
    read_size: usize,
) -> anyhow::Result<()> {
    match (cli.payload.is_a_byte(), read_size) {
        (true, 1) => over::<T, _>(cli, session, demand, runtime, [0u8; 1]),
        (true, _) => over::<T, _>(cli, session, demand, runtime, vec![0u8; read_size]),
        (false, _) => {
            let parts = Parts::new(cli.payload, read_size);
            over::<T, _>(cli, session, demand, runtime, parts)
        }
    }
}

/// The brigade over links of the kind that was asked for.
fn over<T: Work, I: Intake>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    runtime: &Runtime,
    intake: I,
) -> anyhow::Result<()> {
    match cli.chain.transport {
        Local::Pipe => {
            runtime.block_on(brigade::<T, _, _, _>(cli, session, demand, intake, || {
                let (writer, reader) = pipe::pipe()?;
                links::pipes::count(&writer);
                Ok((reader, writer))
            }))
        }
        Local::Socketpair => runtime.block_on(brigade::<T, _, _, _>(
            cli,
            session,
            demand,
            intake,
            UnixStream::pair,
        )),
        Local::Eventfd => {
            runtime.block_on(brigade::<T, _, _, _>(cli, session, demand, intake, || {
                eventfd::link(cli.chain.tokens)
            }))
        }
    }
}

/// Builds the chain out of links (the end to read from, the end to write to), has it driven, and
/// takes it down.
async fn brigade<T, I, R, W>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    intake: I,
    link: impl Fn() -> io::Result<(R, W)>,
) -> anyhow::Result<()>
where
    T: Work,
    I: Intake,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (n, tokens, payload) = (cli.run.tasks, cli.chain.tokens, cli.payload);
    let counts = runtime::counts(&Handle::current());
    let mut tasks = Vec::new();
    let mut sent = 0;
    let result = match form::<T, I, R, W>(cli, demand, intake.clone(), link, &mut tasks).await {
        Err(e) => Err(e),
        Ok(mut ends) => {
            let mut laps = session.laps().on(counts);
            let driver = tokio::spawn(async move {
                let result = drive(&mut ends, intake, &mut laps, n, tokens, payload).await;
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
    tasks.sort_unstable_by_key(|&(place, _)| place);
    let mut tally = Tally::default();
    for (_, task) in tasks {
        tally.add(runtime::join(task).await);
    }
    tally.settle(result, n, sent)
}

/// Spawns the tasks and waits until each has run. Returns the end that the driver writes to and
/// the end that it reads from; `tasks` gets each task with its place.
async fn form<T, I, R, W>(
    cli: &Cli,
    demand: &Demand,
    intake: I,
    link: impl Fn() -> io::Result<(R, W)>,
    tasks: &mut Vec<(u32, JoinHandle<anyhow::Result<u64>>)>,
) -> anyhow::Result<(W, R)>
where
    T: Work,
    I: Intake,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let n = cli.run.tasks;
    let mut muster = Muster::of(n);
    let mut wiring = Wiring::new(cli.order, n, |k| {
        link().map_err(|e| limits::explain("make a link", k, n, e, demand))
    })?;
    while let Some(post) = wiring.next_task() {
        let Post {
            place,
            upstream,
            downstream,
        } = post?;
        let arrival = muster.arrival();
        let (work, intake) = (T::new(cli.touch), intake.clone());
        let task = match cli.fault.of(place) {
            None => tokio::spawn(pass_on(upstream, downstream, intake, work, arrival)),
            Some(ending) => tokio::spawn(faulty::pass_on(
                upstream, downstream, intake, arrival, ending,
            )),
        };
        tasks.push((place, task));
    }
    while !muster.complete()? {
        yield_now().await;
    }
    Ok(wiring.ends())
}

/// A task of the chain: takes a token, or several where its buffer and the chain have more, and adds
/// one to each, does its work, hands it on, until the end of file.
async fn pass_on<R, W>(
    mut upstream: R,
    mut downstream: W,
    mut intake: impl Intake,
    mut work: impl Work,
    arrival: Arrival,
) -> anyhow::Result<u64>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    arrival.arrive();
    let mut passed = 0;
    loop {
        let read = upstream.read(intake.room()).await?;
        if read == 0 {
            intake.end()?;
            return Ok(passed);
        }
        for token in intake.whole(read) {
            token[0] = token[0].wrapping_add(1);
            work.work();
            downstream.write_all(token).await?;
            passed += 1;
        }
    }
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive<R, W>(
    (first, last): &mut (W, R),
    intake: impl Intake,
    laps: &mut Laps,
    tasks: u32,
    tokens: u32,
    payload: Payload,
) -> anyhow::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let pattern = Pattern::new(payload);
    let all = payload.of(tokens) as usize;
    let mut received = pattern.room_to_read(tokens, intake.ask(0));
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..tokens {
            let token = pattern.token(start.wrapping_add(k as u8));
            first.write_all(token).await?;
        }
        let mut came = 0;
        while came < all {
            let room = &mut received[came..came + intake.ask(came)];
            let read = last.read(room).await?;
            ensure!(read > 0, "the chain ended early");
            came += read;
        }
        laps.record(clock.elapsed());

        ensure!(came == all, "more tokens came out than went in");
        pattern.verify(&received[..all], start, tasks)?;
    }
    Ok(())
}
