//! A token travels through N Tokio tasks chained by pipes.
//!
//! One iteration: the driver, a task too, writes a byte into the first link; each task reads it, adds one, and writes
//! it into the next link; the driver reads it from the last link: N + 1 hops.
//!
//! Timed: one write, two reads (the second finds nothing and tells the task to wait; see `--read-buffer`), the runtime's
//! epoll_wait and its own work. Left out: creating and awaiting the tasks, and the check of the bytes.
//!
//! With `--chains C` there are C such chains, each with a driver of its own, and with `--trips R` each makes R
//! round trips in an iteration. A multi-thread scheduler runs all of them; of current-thread ones each chain has
//! its own, on a thread of its own. The drivers start together; timed is from the first one's start to the last
//! one's end.
//!
//! Not to be taken for a switch alone, which needs no system call (`async-mem-brigade`);
//! `one-thread-brigade --nonblocking` makes the same system calls without tasks.

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use chain::{
    ByteTokens, ChainBuilder, ChainFlags, ChainsFlags, ReadBuffer, StartGuard, StartLatch,
    TaskResults, Times, TokenBuffer, conclude,
};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Program, Run};
use runtime::{Ends, Runtimes, TaskDriver, TokioFlags};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Pass a byte through a chain of Tokio tasks joined by pipes, and time it
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    chain: ChainFlags,
    #[command(flatten)]
    chains: ChainsFlags,
    #[command(flatten)]
    read_buffer: ReadBuffer,
    #[command(flatten)]
    tokio: TokioFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> Result<Description> {
        let mut chain = self.chain.clone();
        let timers = runtime::timer_needs(self.tokio.timers(&mut chain.idle));
        let needs = chain.needs(self.read_buffer.size(&chain)?) + runtime::io_needs() + timers;
        let (claim, chains) = (Claim::UserSwitch, self.chains);
        let tasks = chain.describe("async-brigade", &self.flags, chains, claim, needs)?;
        let needs = tasks.needs + runtime::chains_needs(&self.tokio, chains);
        self.tokio.runtime.describe(Description { needs, ..tasks })
    }
}

/// The tasks of a chain, with their places.
type Tasks = Vec<(u32, JoinHandle<io::Result<u64>>)>;

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(measure)
}

/// The brigade, beside idle tasks that wait on timers or on links of their own.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let runtimes = cli.tokio.build_for(cli.chains, true)?;
    let idle = (cli.chain.idle, cli.chain.transport);
    cli.tokio.beside(runtimes.of_chain(0), idle, || brigade(cli, &runtimes, run))
}

/// Builds all chains, drives them, and takes them down.
fn brigade(cli: &Cli, runtimes: &Runtimes, run: &mut Run) -> Result<()> {
    let mut chains = Vec::new();
    let drivers = (0..cli.chains.chains).map(|chain| {
        let mut tasks = Tasks::new();
        let built = runtimes.of_chain(chain).block_on(build(cli, chain, &mut tasks));
        chains.push((runtimes.of_chain(chain), tasks));
        let tokens = ByteTokens::new(&cli.chain, cli.chains.trips);
        Ok(Driver { ends: built?, tokens, tasks: cli.flags.tasks })
    });
    let drivers = drivers.collect::<Result<Vec<Driver>>>();
    let driven = drivers.and_then(|drivers| runtimes.drive(cli.tokio.driver, run, drivers));
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
    let faults = cli.chain.fault.in_chain(chain, cli.flags.tasks);
    let (chain, read_size) = (&cli.chain, cli.read_buffer.size(&cli.chain)?);
    let mut latch = StartLatch::new(cli.flags.tasks);
    let link = || runtime::link(chain.transport);
    let mut builder = ChainBuilder::new(cli.flags.tasks, chain.shuffle, link)?;
    while let Some(station) = builder.next_station()? {
        let fault = faults.of(station.place);
        let guard = latch.guard(fault);
        let ends = (station.upstream.with_fault(fault), station.downstream);
        let task = if chain.is_byte() && read_size == 1 {
            tokio::spawn(pass_bytes(ends, guard))
        } else {
            tokio::spawn(pass_tokens(ends, guard, TokenBuffer::new(chain, read_size)))
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

/// The same with tokens of any size, of which one read may bring several.
async fn pass_tokens(
    (mut from, mut to): Ends,
    guard: StartGuard,
    mut buffer: TokenBuffer,
) -> io::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let read @ 1.. = from.read(buffer.room()).await? {
        for token in buffer.whole(read) {
            token[0] = token[0].wrapping_add(1);
            to.write_all(token).await?;
            passed += 1;
        }
    }
    buffer.end().map(|()| passed)
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
        let trips = self.tokens.trips(iteration);

        let begun = Instant::now();
        for (sent, received) in trips {
            for token in sent {
                first.write_all(token).await?;
            }
            for token in received {
                last.read_exact(token).await.context("the chain ended early")?;
            }
        }
        Ok((begun, Instant::now()))
    }

    fn verify(&self, iteration: u64) -> Result<()> {
        self.tokens.verify(iteration, self.tasks)
    }
}
