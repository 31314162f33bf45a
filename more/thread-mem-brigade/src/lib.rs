//! A number travels through N OS threads chained in memory: no I/O, no descriptors.
//!
//! One iteration: the driver puts a number into the first link; each thread takes it, adds one, and
//! puts it into the next link; the driver takes it from the last link: N + 1 hops, each a wake-up of the
//! next thread and a sleep until the next number. With several tokens and `--feed first-task` the driver
//! sends the first one, and the first thread the others: a stream.
//!
//! Timed: with the default transport two futex(2) calls a hop, and what the kernel does to run the next
//! thread. Left out: creating and joining the threads, and
//! the check of the numbers.
//!
//! With `--chains C` there are C such chains, each with a driver of its own, and with `--trips R` each makes R
//! round trips in an iteration. The drivers start together; timed is from the first one's start to the last one's
//! end.
//!
//! Not to be taken for a context switch alone: a hop contains the system calls that put a thread to
//! sleep and wake it, and a thread woken on another CPU may start while its waker still runs. A
//! transport that spins before it sleeps (`--transport mpsc`) may hand over without a switch.

mod cli;
mod links;

use std::io;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::Context;
use chain::{
    Backlog, ChainBuilder, ChainDriver, Next, StartLatch, TaskResults, Times, TokenSource, Tokens,
    conclude, drive_together,
};
use cli::{Cli, Transport};
use contract::Run;
use links::{FutexReceiver, Receiver, Sender};
use threads::CpuAssignment;

type Threads = Vec<(u32, JoinHandle<io::Result<u64>>)>;

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| match cli.transport {
        Transport::Futex => measure::<FutexReceiver>(cli, run),
        Transport::Mpsc => measure::<mpsc::Receiver<usize>>(cli, run),
    })
}

/// Builds all chains, drives them, and takes them down.
fn measure<R: Receiver>(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    cli.futex.set()?;
    let cpus = CpuAssignment::new(cli.placement)?;
    let (tasks, mut chains) = (cli.chain.tasks(), Vec::new());
    let drivers = (0..cli.chains.chains).map(|chain| {
        let backlog = cli.chain.backlog();
        let tokens = Tokens::new(&cli.chain, cli.chains.trips, backlog.clone());
        let mut threads = Threads::new();
        let built = build::<R>(cli, (chain, &cpus), backlog, &mut threads);
        chains.push(threads);
        let (last, first) = built?;
        Ok(Driver { last, first, tokens, tasks, cpus: cpus.of_chain(chain) })
    });
    let drivers = drivers.collect::<anyhow::Result<Vec<Driver<R>>>>();
    let driven = drivers.and_then(|drivers| drive_together(run, drivers));
    // The drivers' ends are dropped now, and the end runs along each chain.
    conclude(chains.into_iter().map(join).collect(), driven, run.sent())
}

fn join(threads: Threads) -> TaskResults {
    let join = |(place, thread)| (place, threads::join(thread).and_then(|passed| Ok(passed?)));
    threads.into_iter().map(join).collect()
}

/// Builds a chain, waits until each thread runs, and returns the driver's ends.
fn build<R: Receiver>(
    cli: &Cli,
    (chain, cpus): (u32, &CpuAssignment),
    mut backlog: Option<Backlog>,
    threads: &mut Threads,
) -> anyhow::Result<(R, R::Sender)> {
    let (cpus, tasks) = (cpus.of_chain(chain), cli.chain.tasks());
    let mut latch = StartLatch::new(tasks);
    let link = || Ok(R::link(cli.capacity()));
    let mut builder = ChainBuilder::new(tasks, link)?;
    while let Some(station) = builder.next_station()? {
        let (place, from, to) = (station.place, station.upstream, station.downstream);
        let (fault, cpus) = (cli.chain.fault.of((chain, tasks), place), cpus.clone());
        let guard = latch.guard(fault);
        let start = move || {
            cpus.pin(place + 1, tasks + 1)?;
            guard.started()
        };
        let backlog = if place == 0 { backlog.take() } else { None };
        let thread = if backlog.is_none() && fault.is_none() {
            cli.stack.spawn(tasks, || start().and_then(|()| pass_on(from, to)))?
        } else {
            let source = TokenSource::new(backlog, fault);
            cli.stack.spawn(tasks, || start().and_then(|()| pass_on_from(from, to, source)))?
        };
        threads.push((place, thread));
    }
    cpus.pin(0, tasks + 1)?;
    latch.wait()?;
    Ok(builder.driver_ends())
}

/// A thread of the chain: takes a token, adds one to it, hands it on, until the end.
fn pass_on<R: Receiver>(mut from: R, mut to: R::Sender) -> io::Result<u64> {
    let mut passed = 0;
    while let Some(token) = from.take() {
        to.put(token + 1)?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with tokens that do not come from a link alone.
fn pass_on_from<R: Receiver>(
    mut from: R,
    mut to: R::Sender,
    mut source: TokenSource,
) -> io::Result<u64> {
    let mut passed = 0;
    loop {
        let token = match source.next_place()? {
            Next::Token(token) => token,
            Next::Link => match from.take() {
                Some(token) => source.arrived(token),
                None => return Ok(passed),
            },
            Next::End => return Ok(passed),
            Next::Never => loop {
                thread::park();
            },
        };
        to.put(token + 1)?;
        passed += 1;
    }
}

/// The driver of a chain: sends the tokens in, takes them out, and times that.
struct Driver<R: Receiver> {
    last: R,
    first: R::Sender,
    tokens: Tokens,
    tasks: u32,
    cpus: CpuAssignment,
}

impl<R: Receiver> ChainDriver for Driver<R> {
    fn start(&mut self) -> anyhow::Result<()> {
        self.cpus.pin(0, self.tasks + 1).context("cannot pin a driver")
    }

    fn make_trips(&mut self, iteration: u64) -> anyhow::Result<Times> {
        let (sent, trips) = self.tokens.set_out_trips(iteration);

        let begun = Instant::now();
        for trip in trips {
            for &token in &trip[..sent] {
                self.first.put(token).context("the chain ended early")?;
            }
            for token in trip {
                *token = self.last.take().context("the chain ended early")?;
            }
        }
        Ok((begun, Instant::now()))
    }

    fn verify(&self, iteration: u64) -> anyhow::Result<()> {
        self.tokens.verify(iteration, self.tasks)
    }
}
