//! A token travels through N processes chained by pipes, as a bucket does in a fire brigade.
//!
//! One iteration: the driver writes a byte into the first link; each process of the chain reads
//! it, adds one, and writes it into the next link; the driver reads it from the last link. That is
//! N + 1 hops, each a write, a wake-up and a read. With `--bytes` a token has more of them, of which
//! each process reads all before it writes any.
//!
//! Timed: those system calls, and what the kernel does to run the next process. Left out: forking
//! and awaiting the processes, the check of the bytes, and all bookkeeping.
//!
//! It is `thread-brigade` with an address space for each task: what a hop costs more than there is
//! what the change of page tables costs, with the entries of the TLB that it empties. With one task
//! it does what `perf bench sched pipe` does, one process against another; that tool calls two hops
//! an operation.
//!
//! The processes are forked by one that has a single thread, run the same program, and share its
//! pages until they write to them: a program of its own would have its own.

mod children;
mod faulty;
mod reports;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{Chain, Mode};
use harness::order::Order;
use harness::payload::{Intake, Parts, Pattern, Payload};
use harness::placement::{Layout, Place, Seats};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::Wiring;
use harness::{Interrupted, Program, Session, signals};
use serde::Serialize;

use children::{Arrival, Children};

/// Pass a byte through a chain of forked processes joined by pipes, and time it
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
    session.require(&demand(cli))?;
    cli.chain.check_room_along(cli.run.tasks, cli.payload)?;

    let mut children = Children::new(cli.run.tasks)?;
    let formed = match cli.touch.is_none() {
        true => with::<()>(cli, &seats, &mut children),
        false => with::<WorkingSet>(cli, &seats, &mut children),
    };
    session.tasks_are(&children.pids());
    let mut laps = session.laps();
    let result = formed.and_then(|(first, last)| {
        drive(cli, &first, &last, &mut laps)?;
        session.at_rest();
        Ok(())
    });
    // Both ends of the chain are closed now, and the end of file runs down it.
    let mut tally = Tally::default();
    for outcome in children.join() {
        tally.add(outcome);
    }
    let sent = laps.begun() * u64::from(cli.chain.tokens);
    session.timed(laps);
    tally.settle(result, cli.run.tasks, sent)
}

/// What the run needs of the system. A child takes its ends of the links with it, and the driver
/// closes them; only a shuffled chain is made as a whole beforehand.
fn demand(cli: &Cli) -> Demand {
    let links = Demand::links(cli.chain.transport);
    let links = match cli.order.shuffle {
        Some(_) => links,
        None => links.in_children(),
    };
    let own = cli.payload.demand(cli.chain.tokens) + cli.touch.demand();
    links + Demand::processes() + own.in_children()
}

/// The chain whose processes do this work, with tokens of the size that was asked for.
fn with<W: Work>(
    cli: &Cli,
    seats: &Seats,
    children: &mut Children,
) -> anyhow::Result<(File, File)> {
    match cli.payload.is_a_byte() {
        true => form::<W>(cli, seats, children, &[0u8; 1]),
        false => form::<W>(
            cli,
            seats,
            children,
            &Parts::new(cli.payload, cli.payload.size()),
        ),
    }
}

/// Builds the chain and waits until each of its processes runs. Returns the end that the driver
/// writes to and the end that it reads from.
fn form<W: Work>(
    cli: &Cli,
    seats: &Seats,
    children: &mut Children,
    intake: &impl Intake,
) -> anyhow::Result<(File, File)> {
    let (tasks, touch) = (cli.run.tasks, cli.touch);
    let link = |k| {
        let link = cli.chain.transport.link(Mode::Blocking);
        let link = link.map_err(|e| limits::explain("make a link", k, tasks, e, &demand(cli)))?;
        Ok((link.reader, link.writer))
    };
    let mut wiring = Wiring::new(cli.order, tasks, link)?;
    let mut built = 0u32;
    while let Some(post) = wiring.next_task() {
        if signals::received().is_some() {
            // Thousands of them take seconds.
            return Err(Interrupted.into());
        }
        let post = post?;
        let seat = seats.seat(post.place + 1, tasks + 1);
        let forked = match cli.fault.of(post.place) {
            None => children.fork(post, |upstream, downstream, arrival| {
                seat.take()?;
                pass_on(upstream, downstream, intake.clone(), arrival, W::new(touch))
            }),
            Some(ending) => children.fork(post, |upstream, downstream, arrival| {
                faulty::pass_on(upstream, downstream, intake.clone(), arrival, ending)
            }),
        };
        forked.map_err(|e| limits::explain("create a process", built, tasks, e, &demand(cli)))?;
        built += 1;
    }
    let (first, last): (OwnedFd, OwnedFd) = wiring.ends();
    seats.seat(0, tasks + 1).take()?;
    children.muster()?;
    Ok((first.into(), last.into()))
}

/// A process of the chain: takes a token, adds one to it, hands it on, until the end of file.
fn pass_on<W: Work>(
    mut upstream: File,
    mut downstream: File,
    mut intake: impl Intake,
    arrival: Arrival,
    mut work: W,
) -> io::Result<u64> {
    arrival.arrive()?;
    let mut passed = 0;
    loop {
        let read = upstream.read(intake.room())?;
        if read == 0 {
            return intake.end().map(|()| passed);
        }
        for token in intake.whole(read) {
            work.work();
            token[0] = token[0].wrapping_add(1);
            downstream.write_all(token)?;
            passed += 1;
        }
    }
}

/// The driver: sends the tokens in, takes them out, and times that.
fn drive(cli: &Cli, mut first: &File, mut last: &File, laps: &mut Laps) -> anyhow::Result<()> {
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
