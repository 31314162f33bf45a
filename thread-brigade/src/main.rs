//! A token travels through N OS threads chained by pipes, as a bucket does in a fire brigade.
//!
//! One iteration: the driver writes a byte into the first link; each thread reads it, adds one, and
//! writes it into the next link (`chain::pass_on`); the driver reads it from the last link: N + 1 hops.
//!
//! Timed: a write and a read a hop, and what the kernel does to run the next thread; with `--touch`, the
//! use of memory in between. Left out: creating and joining the threads, and the check of the bytes.
//!
//! Not to be taken for a context switch alone: `one-thread-brigade` measures the write and the read by
//! themselves. A thread woken on another CPU may start while its waker still runs.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use chain::{ByteTokens, ChainBuilder, ChainFlags, StartLatch, TaskResults, pass_on};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Program, Run};
use threads::{CpuAssignment, Placement, Spawner, StackFlags, Thread, rest};

/// Pass a byte through a chain of OS threads joined by pipes, and time it
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    chain: ChainFlags,
    /// Layout of the threads over the CPUs
    #[arg(long, value_enum, default_value = "free")]
    placement: Placement,
    #[command(flatten)]
    stack: StackFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let needs = self.chain.needs(self.chain.token_size()) + self.stack.needs();
        self.chain.describe("thread-brigade", &self.flags, Claim::KernelSwitch, needs)
    }
}

type Threads = Vec<(u32, Thread<io::Result<u64>>)>;

fn main() -> ExitCode {
    contract::main(measure)
}

/// The brigade, beside a chain of idle threads if there are any.
fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let cpus = CpuAssignment::new(cli.placement)?;
    if cli.chain.idle == 0 {
        return brigade(cli, &cpus, run);
    }
    let mut idle = Threads::new();
    let built = build(cli, &cpus, cli.chain.idle, &mut idle).context("the idle tasks");
    let slept =
        built.and_then(|_ends| rest::beside(&rest::other_threads()?, || brigade(cli, &cpus, run)));
    join(idle).into_idle_result(slept)
}

fn brigade(cli: &Cli, cpus: &CpuAssignment, run: &mut Run) -> anyhow::Result<()> {
    let mut threads = Threads::new();
    let built = build(cli, cpus, cli.flags.tasks, &mut threads);
    let driven = built.and_then(|ends| drive(cli, ends, run));
    // The driver's ends are closed now, and the end of file runs along the chain.
    join(threads).into_result(driven, run.sent())
}

fn join(threads: Threads) -> TaskResults {
    threads.into_iter().map(|(place, thread)| (place, thread.join())).collect()
}

/// Builds a chain, waits until each thread runs, and returns the driver's ends.
fn build(
    cli: &Cli,
    cpus: &CpuAssignment,
    tasks: u32,
    threads: &mut Threads,
) -> anyhow::Result<(File, File)> {
    let chain = &cli.chain;
    let spawner = Spawner::new(cli.stack, tasks)?;
    let mut latch = StartLatch::new(tasks);
    let mut builder = ChainBuilder::new(tasks, chain.shuffle, || chain.transport.descriptors())?;
    while let Some(station) = builder.next_station()? {
        let (place, cpus, chain) = (station.place, cpus.clone(), chain.clone());
        let fault = chain.fault.of(place);
        let guard = latch.guard(fault);
        let thread = spawner.spawn(move || {
            cpus.pin(place + 1, tasks + 1)?;
            guard.started()?;
            pass_on(station.upstream, station.downstream, fault, &chain)
        })?;
        threads.push((place, thread));
    }
    cpus.pin(0, tasks + 1)?;
    latch.wait()?;
    let (last, first) = builder.driver_ends();
    Ok((last.into(), first.into()))
}

/// The driver: sends the tokens in, takes them out, and times that.
fn drive(cli: &Cli, (mut last, mut first): (File, File), run: &mut Run) -> anyhow::Result<()> {
    let mut tokens = ByteTokens::new(&cli.chain);
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let clock = Instant::now();
            for token in tokens.sent(iteration) {
                first.write_all(token)?;
            }
            for token in tokens.received() {
                last.read_exact(token).context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration, cli.flags.tasks)?;
        }
        run.finish(pass)?;
    }
    Ok(())
}
