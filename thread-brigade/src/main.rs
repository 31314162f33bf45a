//! A token travels through N OS threads chained by pipes, as a bucket does in a fire brigade.
//!
//! One iteration: the driver writes a byte into the first link; each thread of the chain reads it,
//! adds one, and writes it into the next link; the driver reads it from the last link. That is
//! N + 1 hops, each a write, a wake-up and a read. With `--bytes` a token has more of them, of which
//! each thread reads all before it writes any.
//!
//! Timed: those system calls, and what the kernel does to run the next thread; with `--touch`, what
//! each thread does with its memory in between. Left out: creating and joining the threads, the check
//! of the bytes, and all bookkeeping.
//!
//! The time per hop is not the price of a context switch alone: it contains a write and a read,
//! which `one-thread-brigade` measures by themselves, and a woken thread on another CPU may start
//! while its waker still runs.

mod faulty;

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use harness::args::{Run, Stack};
use harness::futex::FutexHash;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{Chain, Link, Local, Mode, Transport, eventfd};
use harness::order::Order;
use harness::payload::{Intake, Parts, Pattern, Payload};
use harness::placement::{Layout, Place, Seats};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::threads::{Spawner, Thread};
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::{Post, Wiring};
use harness::{Program, Session};
use serde::Serialize;

/// Pass a byte through a chain of OS threads joined by pipes, and time it
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
    touch: Touch,
    #[command(flatten)]
    #[serde(flatten)]
    order: Order,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    #[command(flatten)]
    #[serde(flatten)]
    stack: Stack,
    #[command(flatten)]
    #[serde(flatten)]
    futex_hash: FutexHash,
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
    let seats = cli.place.confine(Layout::Chain)?;
    cli.fault.check(cli.run.tasks)?;
    session.carries(cli.chain.tokens);
    session.hands_over(cli.payload.of(cli.chain.tokens));
    cli.futex_hash.set()?;
    session.require(&demand(cli))?;
    cli.chain.check_room_along(cli.run.tasks, cli.payload)?;
    match cli.touch.is_none() {
        true => with::<()>(cli, &seats, session),
        false => with::<WorkingSet>(cli, &seats, session),
    }
}

/// The brigade whose threads do this work, with tokens of the size that was asked for.
fn with<T: Work>(cli: &Cli, seats: &Seats, session: &mut Session) -> anyhow::Result<()> {
    match cli.payload.is_a_byte() {
        true => over::<T>(cli, seats, session, [0u8; 1]),
        false => over::<T>(
            cli,
            seats,
            session,
            Parts::new(cli.payload, cli.payload.size()),
        ),
    }
}

/// The brigade over links of the kind that was asked for.
fn over<T: Work>(
    cli: &Cli,
    seats: &Seats,
    session: &mut Session,
    intake: impl Intake,
) -> anyhow::Result<()> {
    let files = |transport: Transport| {
        move || {
            let Link { reader, writer } = transport.link(Mode::Blocking)?;
            Ok((File::from(reader), File::from(writer)))
        }
    };
    match cli.chain.transport {
        Local::Pipe => brigade::<T, _, _>(cli, seats, session, intake, files(Transport::Pipe)),
        Local::Socketpair => {
            brigade::<T, _, _>(cli, seats, session, intake, files(Transport::Socketpair))
        }
        Local::Eventfd => brigade::<T, _, _>(cli, seats, session, intake, || {
            eventfd::link(Mode::Blocking)
        }),
    }
}

/// Builds the chain out of links (the end to read from, the end to write to), drives it, and takes
/// it down.
fn brigade<T, R, W>(
    cli: &Cli,
    seats: &Seats,
    session: &mut Session,
    intake: impl Intake,
    link: impl Fn() -> io::Result<(R, W)>,
) -> anyhow::Result<()>
where
    T: Work,
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let mut laps = session.laps();
    let mut threads = Vec::new();
    let formed = form::<T, R, W>(cli, seats, intake, link, &mut threads);
    let result = formed.and_then(|(mut first, mut last)| {
        drive(cli, &mut first, &mut last, &mut laps)?;
        session.at_rest();
        Ok(())
    });
    // Both ends of the chain are closed now, and the end of file runs down it.
    threads.sort_unstable_by_key(|&(place, _)| place);
    let mut tally = Tally::default();
    for (_, thread) in threads {
        tally.add_thread(thread.join());
    }
    let sent = laps.begun() * u64::from(cli.chain.tokens);
    session.timed(laps);
    tally.settle(result, cli.run.tasks, sent)
}

/// What the run needs of the system.
fn demand(cli: &Cli) -> Demand {
    Demand::links(cli.chain.transport)
        + Demand::threads(cli.stack)
        + cli.payload.demand(cli.chain.tokens)
        + cli.touch.demand()
}

/// Builds the chain and waits until each of its threads runs. Returns the end that the driver
/// writes to and the end that it reads from; `threads` gets each thread with its place.
fn form<T, R, W>(
    cli: &Cli,
    seats: &Seats,
    intake: impl Intake,
    link: impl Fn() -> io::Result<(R, W)>,
    threads: &mut Vec<(u32, Thread<io::Result<u64>>)>,
) -> anyhow::Result<(W, R)>
where
    T: Work,
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let tasks = cli.run.tasks;
    let explain = |what, k, e| limits::explain(what, k, tasks, e, &demand(cli));
    let spawner = Spawner::new(cli.stack, tasks).map_err(|e| explain("map the stacks", 0u32, e))?;
    let mut muster = Muster::of(tasks);
    let mut wiring = Wiring::new(cli.order, tasks, |k| {
        link().map_err(|e| explain("make a link", k, e))
    })?;
    while let Some(post) = wiring.next_task() {
        let Post {
            place,
            upstream,
            downstream,
        } = post?;
        let (arrival, seat) = (muster.arrival(), seats.seat(place + 1, tasks + 1));
        let (work, intake) = (T::new(cli.touch), intake.clone());
        let thread = match cli.fault.of(place) {
            None => spawner.spawn(move || {
                seat.take()?;
                pass_on(upstream, downstream, intake, work, arrival)
            }),
            Some(ending) => spawner
                .spawn(move || faulty::pass_on(upstream, downstream, intake, arrival, ending)),
        };
        let thread = thread.map_err(|e| explain("create a thread", threads.len() as u32, e))?;
        threads.push((place, thread));
    }
    seats.seat(0, tasks + 1).take()?;
    muster.wait()?;
    Ok(wiring.ends())
}

/// A thread of the chain: takes a token, adds one to it, does its work, hands it on, until the end of
/// file.
fn pass_on(
    mut upstream: impl Read,
    mut downstream: impl Write,
    mut intake: impl Intake,
    mut work: impl Work,
    arrival: Arrival,
) -> io::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    loop {
        let read = upstream.read(intake.room())?;
        if read == 0 {
            return intake.end().map(|()| passed);
        }
        for token in intake.whole(read) {
            token[0] = token[0].wrapping_add(1);
            work.work();
            downstream.write_all(token)?;
            passed += 1;
        }
    }
}

/// The driver: sends the tokens in, takes them out, and times that.
fn drive(
    cli: &Cli,
    first: &mut impl Write,
    last: &mut impl Read,
    laps: &mut Laps,
) -> anyhow::Result<()> {
    let pattern = Pattern::new(cli.payload);
    let mut received = pattern.room_for(cli.chain.tokens);
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            first.write_all(pattern.token(start.wrapping_add(k as u8)))?;
        }
        for token in pattern.tokens(&mut received) {
            last.read_exact(token).context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        pattern.verify(&received, start, cli.run.tasks)?;
    }
    Ok(())
}
