//! A token travels through N Tokio tasks chained by pipes.
//!
//! One iteration: the driver, a task too, writes a byte into the first link; each task reads it, adds one, and writes
//! it into the next link; the driver reads it from the last link: N + 1 hops.
//!
//! Timed: one write, two reads (the second finds nothing and tells the task to wait; see `--read-buffer`), the runtime's
//! epoll_wait and its own work. Left out: creating and awaiting the tasks, and the check of the bytes.
//!
//! With `--chains C` there are C such chains, each with a driver of its own, and with `--trips R` each makes R
//! round trips per iteration. One multi-thread scheduler runs all chains; with current-thread schedulers, each chain has
//! its own scheduler on its own thread. The drivers start together, and the time runs from the first one's start to the
//! last one's end.
//!
//! Not to be taken for a switch alone, which needs no system call (`async-mem-brigade`);
//! `one-thread-brigade --nonblocking` makes the same system calls without tasks.

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use chain::{
    ByteTokens, ChainBuilder, ChainFlags, ChainsFlags, ReadBuffer, StartGuard, StartLatch,
    TaskResults, Times, conclude,
};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Program, Run};
use runtime::{DriverKind, Ends, RuntimeFlags, TaskDriver};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Time switching between async (Tokio) tasks: pass a byte along a chain of tasks joined by pipes
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in a chain")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
    #[command(flatten)]
    chains: ChainsFlags,
    #[command(flatten)]
    read_buffer: ReadBuffer,
    #[command(flatten)]
    runtime: RuntimeFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.chain.flags
    }

    fn describe(&self) -> Result<Description> {
        let needs = self.chain.needs(self.read_buffer.size()) + runtime::io_needs();
        let tasks = self.chain.describe("async-brigade", self.chains, Claim::UserSwitch, needs)?;
        let needs = tasks.needs + runtime::chains_needs(&self.runtime, self.chains);
        self.runtime.describe(Description { needs, ..tasks })
    }
}

/// The tasks of a chain, with their places.
type Tasks = Vec<(u32, JoinHandle<io::Result<u64>>)>;

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds all chains, drives them, and takes them down.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let runtimes = cli.runtime.build_for(cli.chains, true)?;
    let mut chains = Vec::new();
    let drivers = (0..cli.chains.chains).map(|chain| {
        let mut tasks = Tasks::new();
        let built = runtimes.of_chain(chain).block_on(build(cli, chain, &mut tasks));
        chains.push((runtimes.of_chain(chain), tasks));
        let tokens = ByteTokens::new(&cli.chain, cli.chains.trips);
        Ok(Driver { ends: built?, tokens, tasks: cli.chain.tasks() })
    });
    let drivers = drivers.collect::<Result<Vec<Driver>>>();
    let driven = drivers.and_then(|drivers| runtimes.drive(DriverKind::Spawned, run, drivers));
    // The drivers' ends are closed now, and the end of file runs along each chain.
    let results = chains.into_iter().map(|(runtime, tasks)| join(runtime, tasks));
    conclude(results.collect(), driven, run.sent())
}

fn join(runtime: &Runtime, tasks: Tasks) -> TaskResults {
    let join = |(place, task)| (place, runtime.block_on(runtime::join(task)));
    tasks.into_iter().map(join).collect()
}

/// Builds a chain, waits until each task runs, and returns the driver's ends.
async fn build(cli: &Cli, chain: u32, tasks: &mut Tasks) -> Result<Ends> {
    let (flags, count) = (&cli.chain, cli.chain.tasks());
    let mut latch = StartLatch::new(count);
    let link = || runtime::link(flags.transport);
    let mut builder = ChainBuilder::new(count, link)?;
    while let Some(station) = builder.next_station()? {
        let fault = flags.fault.of((chain, count), station.place);
        let guard = latch.guard(fault);
        let ends = (station.upstream.with_fault(fault), station.downstream);
        let task = match cli.read_buffer.size() {
            1 => tokio::spawn(pass_bytes(ends, guard)),
            // Written, so that it is resident before anything is timed.
            size => tokio::spawn(pass_many(ends, guard, vec![u8::MAX; size])),
        };
        tasks.push((station.place, task));
    }
    runtime::wait_for(&mut latch).await?;
    Ok(builder.driver_ends())
}

/// A task of the chain: takes a byte, adds one to it, hands it on, until the end of file.
async fn pass_bytes((mut from, mut to): Ends, guard: StartGuard) -> io::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    let mut token = [0];
    while from.read(&mut token).await? == 1 {
        token[0] = token[0].wrapping_add(1);
        to.write_all(&token).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with a read that may bring several.
async fn pass_many(
    (mut from, mut to): Ends,
    guard: StartGuard,
    mut buffer: Vec<u8>,
) -> io::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let read @ 1.. = from.read(&mut buffer).await? {
        for token in buffer[..read].chunks_mut(1) {
            token[0] = token[0].wrapping_add(1);
            to.write_all(token).await?;
            passed += 1;
        }
    }
    Ok(passed)
}

/// The driver of a chain: sends the tokens in, takes them out, and times that.
struct Driver {
    ends: Ends,
    tokens: ByteTokens,
    tasks: u32,
}

impl TaskDriver for Driver {
    async fn make_trips(&mut self, iteration: u64) -> Result<Times> {
        let (last, first) = &mut self.ends;
        let trips = self.tokens.set_out_trips(iteration);

        let begun = Instant::now();
        for trip in trips {
            for token in trip.chunks(1) {
                first.write_all(token).await?;
            }
            for token in trip.chunks_mut(1) {
                last.read_exact(token).await.context("the chain ended early")?;
            }
        }
        Ok((begun, Instant::now()))
    }

    fn verify(&self, iteration: u64) -> Result<()> {
        self.tokens.verify(iteration, self.tasks)
    }
}
