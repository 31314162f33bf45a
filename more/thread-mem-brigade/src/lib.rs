//! A number, or a buffer (`--bytes`), travels through N OS threads chained in memory: no I/O, no
//! descriptors.
//!
//! One iteration: the driver puts a number into the first link; each thread takes it, adds one, and
//! puts it into the next link; the driver takes it from the last link: N + 1 hops, each a wake-up of the
//! next thread and a sleep until the next number. With several tokens and `--feed first-task` the driver
//! sends the first one, and the first thread the others: a stream.
//!
//! Timed: with the default transport two futex(2) calls a hop, and what the kernel does to run the next
//! thread; with `--touch`, the use of memory in between. Left out: creating and joining the threads, and
//! the check of the numbers.
//!
//! With `--chains C` there are C such chains, each with a driver of its own, and with `--trips R` each makes R
//! round trips in an iteration. The drivers start together; timed is from the first one's start to the last one's
//! end.
//!
//! Not to be taken for a context switch alone: a hop contains the system calls that put a thread to
//! sleep and wake it, and a thread woken on another CPU may start while its waker still runs. A
//! transport that spins before it sleeps (`--transport mpsc`) may hand over without a switch.

mod build;
mod cli;
mod links;
mod source;

use std::io;
use std::mem;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Instant;

use anyhow::Context;
use build::{Threads, build, join};
use chain::{
    Buffer, ChainDriver, MemoryToken, Times, Tokens, WorkingSet, conclude, drive_together,
};
use cli::{Cli, Transport};
use contract::Run;
use links::{CondvarEnd, FutexReceiver, Receiver, Sender};
use source::TokenSource;
use threads::{CpuAssignment, rest};

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| match (cli.transport, cli.chain.is_number()) {
        (Transport::Futex, true) => measure::<FutexReceiver<usize>>(cli, run),
        (Transport::Futex, false) => measure::<FutexReceiver<Buffer>>(cli, run),
        (Transport::Mpsc, true) => measure::<mpsc::Receiver<usize>>(cli, run),
        (Transport::Mpsc, false) => measure::<mpsc::Receiver<Buffer>>(cli, run),
        (Transport::Condvar, true) => measure::<CondvarEnd<usize>>(cli, run),
        (Transport::Condvar, false) => measure::<CondvarEnd<Buffer>>(cli, run),
    })
}

/// The brigade, beside a chain of idle threads if there are any.
fn measure<R: Receiver<Token: MemoryToken>>(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    cli.futex.set()?;
    let cpus = CpuAssignment::new(cli.placement)?;
    if cli.chain.idle == 0 {
        return brigade::<R>(cli, &cpus, run);
    }
    let mut idle = Threads::new();
    let built = build::<R>(cli, (0, &cpus), cli.chain.idle, None, &mut idle);
    let slept = built
        .context("the idle tasks")
        .and_then(|_ends| rest::beside(&rest::other_threads()?, || brigade::<R>(cli, &cpus, run)));
    join(idle).into_idle_result(slept)
}

fn brigade<R: Receiver<Token: MemoryToken>>(
    cli: &Cli,
    cpus: &CpuAssignment,
    run: &mut Run,
) -> anyhow::Result<()> {
    if !cli.chains.is_one() {
        return brigades::<R>(cli, cpus, run);
    }
    let backlog = cli.chain.backlog();
    let tokens = Tokens::new(&cli.chain, 1, backlog.clone());
    let mut threads = Threads::new();
    let built = build::<R>(cli, (0, cpus), cli.flags.tasks, backlog, &mut threads);
    let driven = built.and_then(|ends| drive(cli, ends, tokens, run));
    // The driver's ends are dropped now, and the end runs along the chain.
    join(threads).into_result(driven, run.sent())
}

/// Several chains, or several round trips an iteration.
fn brigades<R: Receiver<Token: MemoryToken>>(
    cli: &Cli,
    cpus: &CpuAssignment,
    run: &mut Run,
) -> anyhow::Result<()> {
    let (tasks, mut chains) = (cli.flags.tasks, Vec::new());
    let drivers = (0..cli.chains.chains).map(|chain| {
        let backlog = cli.chain.backlog();
        let tokens = Tokens::new(&cli.chain, cli.chains.trips, backlog.clone());
        let mut threads = Threads::new();
        let built = build::<R>(cli, (chain, cpus), tasks, backlog, &mut threads);
        chains.push(threads);
        let (last, first) = built?;
        Ok(Driver { last, first, tokens, tasks, cpus: cpus.of_chain(chain) })
    });
    let drivers = drivers.collect::<anyhow::Result<Vec<Driver<R>>>>();
    let driven = drivers.and_then(|drivers| drive_together(run, drivers));
    // The drivers' ends are dropped now, and the end runs along each chain.
    conclude(chains.into_iter().map(join).collect(), driven, run.sent())
}

/// A thread of the chain: takes a token, adds one to it, hands it on, until the end.
fn pass_on<R: Receiver<Token: MemoryToken>>(mut from: R, mut to: R::Sender) -> io::Result<u64> {
    let mut passed = 0;
    while let Some(token) = from.take() {
        to.put(token.passed())?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with work, or with tokens that do not come from a link alone.
fn work_and_pass_on<R: Receiver<Token: MemoryToken>>(
    mut from: TokenSource<R>,
    mut to: R::Sender,
    mut memory: WorkingSet,
) -> io::Result<u64> {
    let mut passed = 0;
    while let Some(token) = from.take()? {
        memory.touch();
        to.put(token.passed())?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
fn drive<R: Receiver<Token: MemoryToken>>(
    cli: &Cli,
    (mut last, mut first): (R, R::Sender),
    mut tokens: Tokens<R::Token>,
    run: &mut Run,
) -> anyhow::Result<()> {
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let (sent, all) = tokens.set_out(iteration);

            let clock = Instant::now();
            for token in &mut all[..sent] {
                first.put(mem::take(token)).context("the chain ended early")?;
            }
            for token in all {
                *token = last.take().context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration, cli.flags.tasks)?;
        }
        run.finish(pass)?;
    }
    Ok(())
}

/// The driver of one chain among several.
struct Driver<R: Receiver> {
    last: R,
    first: R::Sender,
    tokens: Tokens<R::Token>,
    tasks: u32,
    cpus: CpuAssignment,
}

impl<R: Receiver<Token: MemoryToken>> ChainDriver for Driver<R> {
    fn start(&mut self) -> anyhow::Result<()> {
        self.cpus.pin(0, self.tasks + 1).context("cannot pin a driver")
    }

    fn make_trips(&mut self, iteration: u64) -> anyhow::Result<Times> {
        let (sent, trips) = self.tokens.set_out_trips(iteration);

        let begun = Instant::now();
        for trip in trips {
            for token in &mut trip[..sent] {
                self.first.put(mem::take(token)).context("the chain ended early")?;
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
