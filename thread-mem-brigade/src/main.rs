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
//! Not to be taken for a context switch alone: a hop contains the system calls that put a thread to
//! sleep and wake it, and a thread woken on another CPU may start while its waker still runs. A
//! transport that spins before it sleeps (`--transport mpsc`) may hand over without a switch.

mod links;

use std::io;
use std::mem;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use chain::{
    Backlog, Buffer, ChainBuilder, FaultFlags, MemoryFlags, MemoryToken, StartLatch, Station,
    TaskResults, Tokens, WorkingSet,
};
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description};
use contract::{BadUsage, Flags, Program, Run};
use links::{Link, Put, Special, Take};
use threads::futex::FutexFlags;
use threads::{CpuAssignment, Placement, Spawner, StackFlags, Thread, rest};

/// Pass a number or a buffer through a chain of OS threads joined in memory, and time it
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Kind of the links; a link holds one token, unless --capacity says otherwise
    #[arg(long, value_enum, default_value_t = Transport::Futex)]
    transport: Transport,
    #[command(flatten)]
    chain: MemoryFlags,
    /// Tokens that a link holds, with --transport mpsc; with 0 a sender waits until its token is taken
    /// [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=1 << 28))]
    capacity: Option<u32>,
    /// Layout of the threads over the CPUs
    #[arg(long, value_enum, default_value = "free")]
    placement: Placement,
    #[command(flatten)]
    stack: StackFlags,
    #[command(flatten)]
    futex: FutexFlags,
    #[command(flatten)]
    fault: FaultFlags,
}

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// a word in memory on which threads sleep by futex(2), without spinning first
    Futex,
    /// the same word, with std::thread::park and unpark
    Park,
    /// std::sync::mpsc::sync_channel, which spins and yields before it sleeps
    Mpsc,
    /// a slot behind a Mutex, with a Condvar to sleep on
    Condvar,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        self.fault.check(self.flags.tasks)?;
        self.check_room()?;
        // A place in a channel holds a token and a number.
        let link = 1024 + u64::from(self.capacity()) * 24;
        let needs = self.chain.needs(link) + self.stack.needs();
        let claim = Claim::KernelSwitch;
        Ok(self.chain.describe("thread-mem-brigade", &self.flags, claim, needs))
    }
}

impl Cli {
    fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }

    fn check_room(&self) -> anyhow::Result<()> {
        let is_channel = self.transport == Transport::Mpsc;
        if self.capacity.is_some() && !is_channel {
            return Err(BadUsage::new(
                "--capacity: a link of this transport holds one token: drop it, or use --transport mpsc",
            ));
        }
        // Without any room in the links, each task still holds the token that it hands on.
        let tasks = u64::from(self.flags.tasks);
        let most = ((tasks + 1) * u64::from(self.capacity())).max(tasks);
        self.chain.check_room(
            most,
            match is_channel {
                true => "raise --capacity or --tasks",
                false => "raise --tasks",
            },
        )
    }
}

type Threads = Vec<(u32, Thread<io::Result<u64>>)>;

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| match cli.chain.is_number() {
        true => with_tokens::<usize>(cli, run),
        false => with_tokens::<Buffer>(cli, run),
    })
}

/// The brigade over links of the kind that was asked for: each is compiled by itself.
fn with_tokens<M: MemoryToken>(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    match cli.transport {
        Transport::Futex => measure::<M, links::Futex>(cli, run),
        Transport::Park => measure::<M, links::Park>(cli, run),
        Transport::Mpsc => measure::<M, links::Mpsc>(cli, run),
        Transport::Condvar => measure::<M, links::Condvar>(cli, run),
    }
}

/// The brigade, beside a chain of idle threads where there are any.
fn measure<M: MemoryToken, L: Link<M>>(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    cli.futex.set()?;
    let cpus = CpuAssignment::new(cli.placement)?;
    if cli.chain.idle == 0 {
        return brigade::<M, L>(cli, &cpus, run);
    }
    let mut idle = Threads::new();
    let built = build::<M, L>(cli, &cpus, cli.chain.idle, None, &mut idle);
    let slept = built.context("the idle tasks").and_then(|_ends| {
        rest::beside(&rest::other_threads()?, || brigade::<M, L>(cli, &cpus, run))
    });
    join(idle).into_idle_result(slept)
}

fn brigade<M: MemoryToken, L: Link<M>>(
    cli: &Cli,
    cpus: &CpuAssignment,
    run: &mut Run,
) -> anyhow::Result<()> {
    let backlog = cli.chain.backlog();
    let mut tokens = Tokens::new(&cli.chain, backlog.clone());
    let mut threads = Threads::new();
    let built = build::<M, L>(cli, cpus, cli.flags.tasks, backlog.as_ref(), &mut threads);
    let driven = built.and_then(|ends| drive(cli, ends, &mut tokens, run));
    // The driver's ends are dropped now, and the end runs along the chain.
    join(threads).into_result(driven, run.sent())
}

fn join(threads: Threads) -> TaskResults {
    threads.into_iter().map(|(place, thread)| (place, thread.join())).collect()
}

/// Builds a chain, waits until each thread runs, and returns the driver's ends.
fn build<M: MemoryToken, L: Link<M>>(
    cli: &Cli,
    cpus: &CpuAssignment,
    tasks: u32,
    backlog: Option<&Backlog<M>>,
    threads: &mut Threads,
) -> anyhow::Result<(L::Receiver, L::Sender)> {
    let spawner = Spawner::new(cli.stack, tasks)?;
    let mut latch = StartLatch::new(tasks);
    let link = || {
        let (sender, receiver) = L::link(cli.capacity());
        Ok((receiver, sender))
    };
    let mut builder = ChainBuilder::new(tasks, cli.chain.shuffle, link)?;
    while let Some(station) = builder.next_station()? {
        let (place, cpus) = (station.place, cpus.clone());
        let guard = latch.guard(cli.fault.of(place));
        let started = move || {
            cpus.pin(place + 1, tasks + 1)?;
            guard.started()
        };
        let backlog = backlog.filter(|_| place == 0);
        threads.push((place, start(cli, &spawner, station, backlog, started)?));
    }
    cpus.pin(0, tasks + 1)?;
    latch.wait()?;
    Ok(builder.driver_ends())
}

/// Starts the thread of a station.
fn start<M: MemoryToken>(
    cli: &Cli,
    spawner: &Spawner,
    station: Station<impl Take<M>, impl Put<M>>,
    backlog: Option<&Backlog<M>>,
    started: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> anyhow::Result<Thread<io::Result<u64>>> {
    let (from, to) = (station.upstream, station.downstream);
    let (fault, touch) = (cli.fault.of(station.place), cli.chain.touch);
    if (backlog.is_none(), fault, touch.0) == (true, None, 0) {
        return spawner.spawn(|| {
            started()?;
            pass_on(from, to)
        });
    }
    let from = Special::new(from, backlog, fault);
    let memory = WorkingSet::new(touch);
    spawner.spawn(|| {
        started()?;
        work_and_pass_on(from, to, memory)
    })
}

/// A thread of the chain: takes a token, hands it on with one added, until the end.
fn pass_on<M: MemoryToken>(mut from: impl Take<M>, mut to: impl Put<M>) -> io::Result<u64> {
    let mut passed = 0;
    while let Some(token) = from.take() {
        to.put(token.passed())?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with work, or where the tokens do not come from a link alone.
fn work_and_pass_on<M: MemoryToken>(
    mut from: Special<impl Take<M>, M>,
    mut to: impl Put<M>,
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
fn drive<M: MemoryToken>(
    cli: &Cli,
    (mut last, mut first): (impl Take<M>, impl Put<M>),
    tokens: &mut Tokens<M>,
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
