//! A number travels through N OS threads chained in memory: no I/O, no descriptors.
//!
//! One iteration: the driver puts a number into the first link; each thread takes it, adds one, and puts it into the
//! next link; the driver takes it from the last link. That makes N + 1 hops, or K (N + 1) with `--tokens K`. A link
//! holds one number.
//!
//! Timed: per hop the wake-up of the next thread and the sleep until the next number, with the default transport two
//! futex(2) calls, and what the kernel does to run the next thread. Left out: creating and joining the threads, and the
//! check of the numbers.
//!
//! Not to be taken for a context switch alone: a hop contains the system calls that put a thread to sleep and wake it,
//! and a thread that is woken on another CPU may start while its waker still runs. A transport that spins before it
//! sleeps (`--transport mpsc`) may hand over without a switch.

use std::io::{self, ErrorKind::BrokenPipe};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use brigade::futex::FutexFlags;
use brigade::{ChainFlags, FutexReceiver, FutexSender, StartLatch, ThreadFlags, Tokens};
use brigade::{conclude, futex_link, join, pin};
use clap::ValueEnum;
use contract::message::{Claim, Description, Need, Needs};
use contract::{Program, Run};

/// Time switching between OS threads without I/O: pass a number along a chain of threads joined in memory
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of threads in the chain")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
    /// Kind of link between threads
    #[arg(long, value_enum, default_value_t = Transport::Futex)]
    transport: Transport,
    #[command(flatten)]
    threads: ThreadFlags,
    #[command(flatten)]
    futex: FutexFlags,
}

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// a word in memory on which threads sleep with futex(2), without spinning first
    Futex,
    /// std::sync::mpsc::sync_channel, which spins and yields before it sleeps
    Mpsc,
}

/// Most bytes of a link, and of the thread's share in the allocator.
const LINK_BYTES: u64 = 1024;

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        self.chain.ensure_room(u64::from(self.chain.tasks()) + 1)?;
        let bytes = Need::new(LINK_BYTES, LINK_BYTES);
        let needs = Needs { bytes, ..Needs::default() } + self.threads.stack.needs();
        Ok(self.chain.describe("thread-mem-brigade", Claim::KernelSwitch, needs))
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| match cli.transport {
        Transport::Futex => measure::<FutexReceiver>(cli, run),
        Transport::Mpsc => measure::<Receiver<usize>>(cli, run),
    })
}

/// End of a link to take numbers from; the loop is compiled for each kind.
trait Take: Send + Sized + 'static {
    type Sender: Put;

    fn link() -> (Self, Self::Sender);

    /// Takes a number; sleeps while there is none. `None` if the sender is gone.
    fn take(&mut self) -> Option<usize>;
}

/// End of a link to put numbers into.
trait Put: Send + 'static {
    /// Puts a number in; sleeps while there is no room. `BrokenPipe` if the receiver is gone.
    fn put(&mut self, number: usize) -> io::Result<()>;
}

impl Take for FutexReceiver {
    type Sender = FutexSender;

    fn link() -> (Self, FutexSender) {
        futex_link()
    }

    fn take(&mut self) -> Option<usize> {
        self.take()
    }
}

impl Put for FutexSender {
    fn put(&mut self, number: usize) -> io::Result<()> {
        self.put(number)
    }
}

impl Take for Receiver<usize> {
    type Sender = SyncSender<usize>;

    fn link() -> (Self, SyncSender<usize>) {
        let (sender, receiver) = sync_channel(1);
        (receiver, sender)
    }

    fn take(&mut self) -> Option<usize> {
        self.recv().ok()
    }
}

impl Put for SyncSender<usize> {
    fn put(&mut self, number: usize) -> io::Result<()> {
        self.send(number).map_err(|_| BrokenPipe.into())
    }
}

/// Builds the chain, drives it, and takes it down.
fn measure<L: Take>(cli: &Cli, run: &mut Run) -> Result<()> {
    cli.futex.set()?;
    let n = cli.chain.tasks();
    let cpus = cli.threads.placement.cpus(n + 1)?;
    let mut latch = StartLatch::new(n);
    let mut threads = Vec::new();
    let (mut last, first) = L::link();
    for &cpu in &cpus[1..] {
        let (receiver, to) = L::link();
        let (from, guard) = (mem::replace(&mut last, receiver), latch.guard()?);
        threads.push(cli.threads.stack.spawn(n, move || {
            pin(cpu)?;
            guard.started();
            pass_on(from, to)
        })?);
    }
    pin(cpus[0]).context("cannot pin the driver")?;
    // The driver's ends are gone when it returns, and the end runs along the chain.
    let driven = latch.wait().and_then(|()| drive(run, first, last, Tokens::new(&cli.chain)));
    conclude(driven, threads.into_iter().map(|thread| Ok(join(thread)??)), run.visits())
}

/// A thread of the chain: takes a number, adds one, and hands it on, until the end.
fn pass_on<L: Take>(mut from: L, mut to: L::Sender) -> io::Result<u64> {
    let mut passed = 0;
    while let Some(number) = from.take() {
        to.put(number + 1)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the numbers in, takes them out, and times that.
fn drive<L: Take>(
    run: &mut Run,
    mut first: L::Sender,
    mut last: L,
    mut tokens: Tokens<usize>,
) -> Result<()> {
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let numbers = tokens.set_out(iteration);

            let clock = Instant::now();
            numbers.iter().try_for_each(|&number| first.put(number))?;
            for number in numbers {
                *number = last.take().context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration)?;
        }
        run.finish(pass)?;
    }
    Ok(())
}
