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
use std::sync::mpsc::sync_channel;
use std::{mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use brigade::futex::FutexFlags;
use brigade::{
    ChainFlags, Placement, StackFlags, StartLatch, Tokens, conclude, futex_link, join, pin,
};
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
    /// CPUs of the threads
    #[arg(long, value_enum, default_value = "free")]
    placement: Placement,
    #[command(flatten)]
    stack: StackFlags,
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
        let needs = Needs { bytes, ..Needs::default() } + self.stack.needs();
        Ok(self.chain.describe("thread-mem-brigade", Claim::KernelSwitch, needs))
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| match cli.transport {
        Transport::Futex => measure(cli, run, || {
            let (from, mut to) = futex_link();
            (from, move |number| to.put(number))
        }),
        Transport::Mpsc => measure(cli, run, || {
            let (to, from) = sync_channel(1);
            (from.into_iter(), move |number| to.send(number).map_err(|_| BrokenPipe.into()))
        }),
    })
}

/// Builds the chain, drives it, and takes it down. `link` makes what numbers are taken from and what puts them into it,
/// for which the loops are compiled.
fn measure<R, W>(cli: &Cli, run: &mut Run, link: impl Fn() -> (R, W)) -> Result<()>
where
    R: Iterator<Item = usize> + Send + 'static,
    W: FnMut(usize) -> io::Result<()> + Send + 'static,
{
    cli.futex.set()?;
    let n = cli.chain.tasks();
    let cpus = cli.placement.cpus(n + 1)?;
    let mut latch = StartLatch::new(n);
    let mut threads = Vec::new();
    let (mut last, first) = link();
    for &cpu in &cpus[1..] {
        let (receiver, to) = link();
        let (from, guard) = (mem::replace(&mut last, receiver), latch.guard()?);
        threads.push(cli.stack.spawn(n, move || {
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
fn pass_on(
    from: impl Iterator<Item = usize>,
    mut to: impl FnMut(usize) -> io::Result<()>,
) -> io::Result<u64> {
    let mut passed = 0;
    for number in from {
        to(number + 1)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the numbers in, takes them out, and times that.
fn drive(
    run: &mut Run,
    mut first: impl FnMut(usize) -> io::Result<()>,
    mut last: impl Iterator<Item = usize>,
    mut tokens: Tokens<usize>,
) -> Result<()> {
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let numbers = tokens.set_out(iteration);

            let clock = Instant::now();
            numbers.iter().try_for_each(|&number| first(number))?;
            for number in numbers {
                *number = last.next().context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration)?;
        }
        run.finish(pass)?;
    }
    Ok(())
}
