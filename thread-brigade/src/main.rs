//! A token travels through N OS threads chained by pipes, as a bucket does in a fire brigade.
//!
//! One iteration: the driver writes a byte into the first link; each thread of the chain reads it,
//! adds one, and writes it into the next link; the driver reads it from the last link. That is
//! N + 1 hops, each a write, a wake-up and a read.
//!
//! Timed: those system calls, and what the kernel does to run the next thread. Left out: creating
//! and joining the threads, the check of the byte, and all bookkeeping.
//!
//! The time per hop is not the price of a context switch alone: it contains a write and a read,
//! which `one-thread-brigade` measures by themselves, and a woken thread on another CPU may start
//! while its waker still runs.

mod faulty;

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::slice;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use harness::args::{Run, Stack};
use harness::futex::FutexHash;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{self, Chain, Mode};
use harness::placement::{Layout, Place, Seats};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::threads::{Spawner, Thread};
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
    chain: Chain,
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
    cli.futex_hash.set()?;
    session.require(&demand(cli))?;
    cli.chain.check_room()?;

    let mut laps = session.laps();
    let mut threads = Vec::new();
    let result = form(cli, &seats, &mut threads).and_then(|(first, last)| {
        drive(cli, &first, &last, &mut laps)?;
        session.at_rest();
        Ok(())
    });
    // Both ends of the chain are closed now, and the end of file runs down it.
    let mut tally = Tally::default();
    for thread in threads {
        tally.add_thread(thread.join());
    }
    let sent = laps.begun() * u64::from(cli.chain.tokens);
    session.timed(laps);
    tally.settle(result, cli.run.tasks, sent)
}

/// What the run needs of the system.
fn demand(cli: &Cli) -> Demand {
    Demand::links(cli.chain.transport) + Demand::threads(cli.stack)
}

/// Builds the chain and waits until each of its threads runs. Returns the end that the driver
/// writes to and the end that it reads from.
fn form(
    cli: &Cli,
    seats: &Seats,
    threads: &mut Vec<Thread<io::Result<u64>>>,
) -> anyhow::Result<(File, File)> {
    let tasks = cli.run.tasks;
    let spawner = Spawner::new(cli.stack, tasks)
        .map_err(|e| limits::explain("map the stacks", 0u32, tasks, e, &demand(cli)))?;
    let mut muster = Muster::of(tasks);
    let link = |k| {
        let link = cli.chain.transport.link(Mode::Blocking);
        link.map_err(|e| limits::explain("make a link", k, tasks, e, &demand(cli)))
    };
    let links::Link {
        reader,
        writer: first,
    } = link(0)?;
    let mut upstream = File::from(reader);
    for k in 0..tasks {
        let next = link(k + 1)?;
        let downstream = File::from(next.writer);
        let (arrival, seat) = (muster.arrival(), seats.seat(k + 1, tasks + 1));
        let thread = match cli.fault.of(k) {
            None => spawner.spawn(move || {
                seat.take()?;
                pass_on(upstream, downstream, arrival)
            }),
            Some(ending) => {
                spawner.spawn(move || faulty::pass_on(upstream, downstream, arrival, ending))
            }
        };
        let thread =
            thread.map_err(|e| limits::explain("create a thread", k, tasks, e, &demand(cli)))?;
        threads.push(thread);
        upstream = File::from(next.reader);
    }
    seats.seat(0, tasks + 1).take()?;
    muster.wait()?;
    Ok((File::from(first), upstream))
}

/// A thread of the chain: takes a byte, adds one, hands it on, until the end of file.
fn pass_on(mut upstream: File, mut downstream: File, arrival: Arrival) -> io::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    let mut byte = 0u8;
    while upstream.read(slice::from_mut(&mut byte))? == 1 {
        byte = byte.wrapping_add(1);
        downstream.write_all(&[byte])?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
fn drive(cli: &Cli, mut first: &File, mut last: &File, laps: &mut Laps) -> anyhow::Result<()> {
    let mut tokens = vec![0u8; cli.chain.tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            first.write_all(&[start.wrapping_add(k as u8)])?;
        }
        for token in &mut tokens {
            last.read_exact(slice::from_mut(token))
                .context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        links::verify(&tokens, start, cli.run.tasks)?;
    }
    Ok(())
}
