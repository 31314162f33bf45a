//! A number travels through N OS threads chained in memory: no I/O, no descriptor.
//!
//! One iteration: the driver puts a number into the first link; each thread of the chain takes it,
//! adds one, and puts it into the next link; the driver takes it from the last one. That is N + 1
//! hops, each a wake-up of the next thread and a sleep until the next number.
//!
//! Timed: those, which with the default transport are two futex(2) calls a hop, and what the
//! kernel does to run the next thread; with `--touch`, what each thread does with its memory in
//! between. Left out: creating and joining the threads, the check of the number, and all bookkeeping.
//!
//! This is `async-mem-brigade` with threads, and `thread-brigade` without its pipes. The time per
//! hop is not the price of a context switch alone: it contains the system calls that put a thread
//! to sleep and wake it, and a woken thread on another CPU may start while its waker still runs.
//! A transport that spins before it sleeps (see `--transport`) may hand over without any switch:
//! the line of switches tells.

mod faulty;
mod links;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use harness::args::{Run, Stack};
use harness::futex::FutexHash;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::check_one_each;
use harness::order::Order;
use harness::placement::{Layout, Place, Seats};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::threads::{Spawner, Thread};
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::{Post, Wiring};
use harness::{Program, Session};
use links::{Link, Put, Take};
use serde::Serialize;

/// Pass a number through a chain of OS threads joined in memory, and time it
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    /// What a link is made of; each holds one number
    #[arg(long, value_enum, default_value_t = Transport::Futex)]
    transport: Transport,
    /// How many numbers are in flight at once
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tokens: u32,
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

/// What a link is made of.
#[derive(Clone, Copy, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    /// a word in memory on which threads sleep by futex(2), without spinning first: one call to
    /// wake and one to sleep a hop
    Futex,
    /// the same word, with std::thread::park and unpark in place of futex(2)
    Park,
    /// std::sync::mpsc::sync_channel(1), which spins and yields before it sleeps
    Mpsc,
    /// a slot behind a Mutex, with a Condvar to sleep on
    Condvar,
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
    session.carries(cli.tokens);
    check_one_each(cli.tokens, cli.run.tasks)?;
    cli.futex_hash.set()?;
    session.require(&demand(cli))?;
    match cli.touch.is_none() {
        true => over::<()>(cli, &seats, session),
        false => over::<WorkingSet>(cli, &seats, session),
    }
}

/// The brigade over links of the kind that was asked for.
fn over<T: Work>(cli: &Cli, seats: &Seats, session: &mut Session) -> anyhow::Result<()> {
    match cli.transport {
        Transport::Futex => brigade::<links::Futex, T>(cli, seats, session),
        Transport::Park => brigade::<links::Park, T>(cli, seats, session),
        Transport::Mpsc => brigade::<links::Mpsc, T>(cli, seats, session),
        Transport::Condvar => brigade::<links::Condvar, T>(cli, seats, session),
    }
}

/// What the run needs of the system.
fn demand(cli: &Cli) -> Demand {
    Demand::memory_links()
        + Demand::tokens(cli.tokens)
        + Demand::threads(cli.stack)
        + cli.touch.demand()
}

/// Builds the chain, drives it, and takes it down.
fn brigade<L: Link, T: Work>(
    cli: &Cli,
    seats: &Seats,
    session: &mut Session,
) -> anyhow::Result<()> {
    let mut laps = session.laps();
    let mut threads = Vec::new();
    let result = form::<L, T>(cli, seats, &mut threads).and_then(|(mut first, mut last)| {
        drive::<L>(cli, &mut first, &mut last, &mut laps)?;
        session.at_rest();
        Ok(())
    });
    // Both ends of the chain are dropped now, and its end runs down it.
    threads.sort_unstable_by_key(|&(place, _)| place);
    let mut tally = Tally::default();
    for (_, thread) in threads {
        tally.add_thread(thread.join());
    }
    let sent = laps.begun() * u64::from(cli.tokens);
    session.timed(laps);
    tally.settle(result, cli.run.tasks, sent)
}

/// Builds the chain and waits until each of its threads runs. Returns the end that the driver
/// puts numbers into and the end that it takes them from; `threads` gets each thread with its place.
fn form<L: Link, T: Work>(
    cli: &Cli,
    seats: &Seats,
    threads: &mut Vec<(u32, Thread<io::Result<u64>>)>,
) -> anyhow::Result<(L::Sender, L::Receiver)> {
    let tasks = cli.run.tasks;
    let explain = |what, k, e| limits::explain(what, k, tasks, e, &demand(cli));
    let spawner = Spawner::new(cli.stack, tasks).map_err(|e| explain("map the stacks", 0u32, e))?;
    let mut muster = Muster::of(tasks);
    let mut wiring = Wiring::new(cli.order, tasks, |_| {
        let (sender, receiver) = L::link();
        Ok((receiver, sender))
    })?;
    while let Some(post) = wiring.next_task() {
        let Post {
            place,
            upstream,
            downstream,
        } = post?;
        let (arrival, seat) = (muster.arrival(), seats.seat(place + 1, tasks + 1));
        let work = T::new(cli.touch);
        let thread = match cli.fault.of(place) {
            None => spawner.spawn(move || {
                seat.take()?;
                pass_on::<L>(upstream, downstream, work, arrival)
            }),
            Some(ending) => {
                spawner.spawn(move || faulty::pass_on::<L>(upstream, downstream, arrival, ending))
            }
        };
        let thread = thread.map_err(|e| explain("create a thread", threads.len() as u32, e))?;
        threads.push((place, thread));
    }
    seats.seat(0, tasks + 1).take()?;
    muster.wait()?;
    Ok(wiring.ends())
}

/// A thread of the chain: takes a number, adds one, does its work, hands the number on, until the
/// link ends.
fn pass_on<L: Link>(
    mut upstream: L::Receiver,
    mut downstream: L::Sender,
    mut work: impl Work,
    arrival: Arrival,
) -> io::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    while let Some(number) = upstream.take() {
        work.work();
        downstream.put(number + 1)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
fn drive<L: Link>(
    cli: &Cli,
    first: &mut L::Sender,
    last: &mut L::Receiver,
    laps: &mut Laps,
) -> anyhow::Result<()> {
    let mut received = vec![0usize; cli.tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as usize;

        let clock = Instant::now();
        for k in 0..cli.tokens {
            first
                .put(start + k as usize)
                .context("the chain ended early")?;
        }
        for token in &mut received {
            *token = last.take().context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        for (k, &token) in received.iter().enumerate() {
            let expected = start + k + cli.run.tasks as usize;
            ensure!(
                token == expected,
                "token {k} came out as {token}, expected {expected}"
            );
        }
    }
    Ok(())
}
