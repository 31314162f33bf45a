//! A number travels through N OS threads chained in memory: no I/O, no descriptor.
//!
//! One iteration: the driver puts a number into the first link; each thread of the chain takes it,
//! adds one, and puts it into the next link; the driver takes it from the last one. That is N + 1
//! hops, each a wake-up of the next thread and a sleep until the next number.
//!
//! Timed: those, which with the default transport are two futex(2) calls a hop, and what the
//! kernel does to run the next thread. Left out: creating and joining the threads, the check of
//! the number, and all bookkeeping.
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
use harness::placement::{Layout, Place, Seats};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::threads::{Spawner, Thread};
use harness::{BadUsage, Program, Session};
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
    check_room(cli)?;
    cli.futex_hash.set()?;
    session.require(&demand(cli))?;
    match cli.transport {
        Transport::Futex => brigade::<links::Futex>(cli, &seats, session),
        Transport::Park => brigade::<links::Park>(cli, &seats, session),
        Transport::Mpsc => brigade::<links::Mpsc>(cli, &seats, session),
        Transport::Condvar => brigade::<links::Condvar>(cli, &seats, session),
    }
}

/// The driver sends all tokens before it takes the first one back: with more than the links hold
/// it would wait for ever.
fn check_room(cli: &Cli) -> anyhow::Result<()> {
    let most = u64::from(cli.run.tasks) + 1;
    if u64::from(cli.tokens) > most {
        return Err(BadUsage::new(format!(
            "--tokens {} is more than the links hold, one each (at most {most}): lower it, or raise --tasks",
            cli.tokens
        )));
    }
    Ok(())
}

/// What the run needs of the system.
fn demand(cli: &Cli) -> Demand {
    Demand::memory_links() + Demand::tokens(cli.tokens) + Demand::threads(cli.stack)
}

/// Builds the chain, drives it, and takes it down.
fn brigade<L: Link>(cli: &Cli, seats: &Seats, session: &mut Session) -> anyhow::Result<()> {
    let mut laps = session.laps();
    let mut threads = Vec::new();
    let result = form::<L>(cli, seats, &mut threads).and_then(|(mut first, mut last)| {
        drive::<L>(cli, &mut first, &mut last, &mut laps)?;
        session.at_rest();
        Ok(())
    });
    // Both ends of the chain are dropped now, and its end runs down it.
    let mut tally = Tally::default();
    for thread in threads {
        tally.add_thread(thread.join());
    }
    let sent = laps.begun() * u64::from(cli.tokens);
    session.timed(laps);
    tally.settle(result, cli.run.tasks, sent)
}

/// Builds the chain and waits until each of its threads runs. Returns the end that the driver
/// puts numbers into and the end that it takes them from.
fn form<L: Link>(
    cli: &Cli,
    seats: &Seats,
    threads: &mut Vec<Thread<io::Result<u64>>>,
) -> anyhow::Result<(L::Sender, L::Receiver)> {
    let tasks = cli.run.tasks;
    let spawner = Spawner::new(cli.stack, tasks)
        .map_err(|e| limits::explain("map the stacks", 0u32, tasks, e, &demand(cli)))?;
    let mut muster = Muster::of(tasks);
    let (first, mut upstream) = L::link();
    for k in 0..tasks {
        let (downstream, next) = L::link();
        let (arrival, seat) = (muster.arrival(), seats.seat(k + 1, tasks + 1));
        let thread = match cli.fault.of(k) {
            None => spawner.spawn(move || {
                seat.take()?;
                pass_on::<L>(upstream, downstream, arrival)
            }),
            Some(ending) => {
                spawner.spawn(move || faulty::pass_on::<L>(upstream, downstream, arrival, ending))
            }
        };
        let thread =
            thread.map_err(|e| limits::explain("create a thread", k, tasks, e, &demand(cli)))?;
        threads.push(thread);
        upstream = next;
    }
    seats.seat(0, tasks + 1).take()?;
    muster.wait()?;
    Ok((first, upstream))
}

/// A thread of the chain: takes a number, adds one, hands it on, until the link ends.
fn pass_on<L: Link>(
    mut upstream: L::Receiver,
    mut downstream: L::Sender,
    arrival: Arrival,
) -> io::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    while let Some(number) = upstream.take() {
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
