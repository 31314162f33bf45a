//! A token travels through N OS threads chained by pipes, as a bucket does in a fire brigade.
//!
//! One iteration: the driver writes a byte into the first link; each thread reads it, adds one, and
//! writes it into the next link (`chain::pass_on`); the driver reads it from the last link: N + 1 hops.
//!
//! Timed: a write and a read per hop, and what the kernel does to run the next thread. Left out: creating and
//! joining the threads, and the check of the bytes.
//!
//! With `--chains C` there are C such chains, each with a driver of its own, and with `--trips R` each makes R
//! round trips per iteration. The drivers start together, and the time runs from the first one's start to the last one's
//! end.
//!
//! Not to be taken for a context switch alone: `one-thread-brigade` measures the write and the read by
//! themselves. A thread woken on another CPU may start while its waker still runs.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::Context;
use chain::{
    ByteTokens, ChainBuilder, ChainDriver, ChainFlags, ChainsFlags, StartLatch, TaskResults, Times,
    conclude, drive_together, pass_on,
};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Program, Run};
use threads::{CpuAssignment, Placement, StackFlags};

/// Time switching between OS threads: pass a byte along a chain of threads joined by pipes
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of threads in a chain")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
    #[command(flatten)]
    chains: ChainsFlags,
    /// CPUs of the threads: free, the kernel decides; half, one CPU for the first half of a chain and another for
    /// the rest; spread, neighbours on different CPUs; chain, one CPU per chain; or a list such as 0,4, to use in turn
    #[arg(long, value_name = "free|half|spread|chain|LIST", default_value = "free")]
    placement: Placement,
    #[command(flatten)]
    stack: StackFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let needs = self.chain.needs(1) + self.stack.needs();
        self.chain.describe("thread-brigade", self.chains, Claim::KernelSwitch, needs)
    }
}

type Threads = Vec<(u32, JoinHandle<io::Result<u64>>)>;

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds all chains, drives them, and takes them down.
fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let cpus = CpuAssignment::new(cli.placement)?;
    let (tasks, mut chains) = (cli.chain.tasks(), Vec::new());
    let drivers = (0..cli.chains.chains).map(|chain| {
        let mut threads = Threads::new();
        let built = build(cli, chain, &cpus, &mut threads);
        chains.push(threads);
        let (last, first) = built?;
        let tokens = ByteTokens::new(&cli.chain, cli.chains.trips);
        Ok(Driver { last, first, tokens, tasks, cpus: cpus.of_chain(chain) })
    });
    let drivers = drivers.collect::<anyhow::Result<Vec<Driver>>>();
    let driven = drivers.and_then(|drivers| drive_together(run, drivers));
    // The drivers' ends are closed now, and the end of file runs along each chain.
    conclude(chains.into_iter().map(join).collect(), driven, run.sent())
}

fn join(threads: Threads) -> TaskResults {
    let join = |(place, thread)| (place, threads::join(thread).and_then(|passed| Ok(passed?)));
    threads.into_iter().map(join).collect()
}

/// Builds a chain, waits until each thread runs, and returns the driver's ends.
fn build(
    cli: &Cli,
    chain: u32,
    cpus: &CpuAssignment,
    threads: &mut Threads,
) -> anyhow::Result<(File, File)> {
    let (cpus, flags, tasks) = (cpus.of_chain(chain), &cli.chain, cli.chain.tasks());
    let mut latch = StartLatch::new(tasks);
    let mut builder = ChainBuilder::new(tasks, || flags.transport.descriptors())?;
    while let Some(station) = builder.next_station()? {
        let (place, cpus) = (station.place, cpus.clone());
        let fault = flags.fault.of((chain, tasks), place);
        let guard = latch.guard(fault);
        let thread = cli.stack.spawn(tasks, move || {
            cpus.pin(place + 1, tasks + 1)?;
            guard.started()?;
            pass_on(station.upstream, station.downstream, fault)
        })?;
        threads.push((place, thread));
    }
    cpus.pin(0, tasks + 1)?;
    latch.wait()?;
    let (last, first) = builder.driver_ends();
    Ok((last.into(), first.into()))
}

/// The driver of a chain: sends the tokens in, takes them out, and times that.
struct Driver {
    last: File,
    first: File,
    tokens: ByteTokens,
    tasks: u32,
    cpus: CpuAssignment,
}

impl ChainDriver for Driver {
    fn start(&mut self) -> anyhow::Result<()> {
        self.cpus.pin(0, self.tasks + 1).context("cannot pin a driver")
    }

    fn make_trips(&mut self, iteration: u64) -> anyhow::Result<Times> {
        let trips = self.tokens.set_out_trips(iteration);

        let begun = Instant::now();
        for trip in trips {
            for token in trip.chunks(1) {
                self.first.write_all(token)?;
            }
            for token in trip.chunks_mut(1) {
                self.last.read_exact(token).context("the chain ended early")?;
            }
        }
        Ok((begun, Instant::now()))
    }

    fn verify(&self, iteration: u64) -> anyhow::Result<()> {
        self.tokens.verify(iteration, self.tasks)
    }
}
