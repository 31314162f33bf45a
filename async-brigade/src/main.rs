//! A token travels through N Tokio tasks chained by pipes.
//!
//! One iteration: the driver, a task too, writes a byte into the first link; each task reads it, adds one, and writes
//! it into the next link; the driver reads it from the last link: N + 1 hops.
//!
//! Timed: one write, two reads (the second finds nothing and tells the task to wait; see `--read-buffer`), the runtime's
//! epoll_wait and its own work; with `--touch`, the use of memory in between. Left out: creating and awaiting the
//! tasks, and the check of the bytes.
//!
//! Not to be taken for a switch alone, which needs no system call (`async-mem-brigade`);
//! `one-thread-brigade --nonblocking` makes the same system calls without tasks.

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use chain::{
    ByteTokens, ChainBuilder, ChainFlags, ReadBuffer, StartGuard, StartLatch, TaskResults,
    TokenBuffer, WorkingSet,
};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Pass, Program, Run};
use runtime::{Driven, Ends, TokioFlags};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

/// Pass a byte through a chain of Tokio tasks joined by pipes, and time it
#[derive(Clone, Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    chain: ChainFlags,
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
        let tasks = chain.describe("async-brigade", &self.flags, Claim::UserSwitch, needs)?;
        self.tokio.runtime.describe(tasks)
    }
}

/// The tasks of a chain, with their places.
type Tasks = Vec<(u32, JoinHandle<io::Result<u64>>)>;

fn main() -> ExitCode {
    contract::main(measure)
}

/// The brigade, beside idle tasks that wait on timers or on links of their own.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let runtime = cli.tokio.build(true)?;
    cli.tokio.beside(&runtime, (cli.chain.idle, cli.chain.transport), || {
        let mut tasks = Tasks::new();
        let driven = runtime.block_on(build(cli, &mut tasks)).and_then(|ends| {
            let drive = |ends, pass| drive(cli.clone(), ends, pass);
            runtime::drive(&runtime, cli.tokio.driver, run, ends, drive)
        });
        // The driver's ends are closed now, and the end of file runs along the chain.
        let join = |(place, task)| (place, runtime.block_on(runtime::join(task)));
        tasks.into_iter().map(join).collect::<TaskResults>().into_result(driven, run.sent())
    })
}

/// Builds a chain, waits until each task runs, and returns the driver's ends.
async fn build(cli: &Cli, tasks: &mut Tasks) -> Result<Ends> {
    let (chain, read_size) = (&cli.chain, cli.read_buffer.size(&cli.chain)?);
    let mut latch = StartLatch::new(cli.flags.tasks);
    let link = || runtime::link(chain.transport);
    let mut builder = ChainBuilder::new(cli.flags.tasks, chain.shuffle, link)?;
    while let Some(station) = builder.next_station()? {
        let fault = chain.fault.of(station.place);
        let guard = latch.guard(fault);
        let ends = (station.upstream.with_fault(fault), station.downstream);
        let task = if chain.is_plain() && read_size == 1 {
            tokio::spawn(pass_bytes(ends, guard))
        } else {
            let work = (TokenBuffer::new(chain, read_size), WorkingSet::new(chain.touch));
            tokio::spawn(pass_tokens(ends, guard, work))
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

/// The same with tokens of any size, of which one read may bring several, and with work.
async fn pass_tokens(
    (mut from, mut to): Ends,
    guard: StartGuard,
    (mut buffer, mut memory): (TokenBuffer, WorkingSet),
) -> io::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let read @ 1.. = from.read(buffer.room()).await? {
        for token in buffer.whole(read) {
            token[0] = token[0].wrapping_add(1);
            memory.touch();
            to.write_all(token).await?;
            passed += 1;
        }
    }
    buffer.end().map(|()| passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive(cli: Cli, (mut last, mut first): Ends, mut pass: Pass) -> Driven<Ends> {
    let result: Result<()> = async {
        let mut tokens = ByteTokens::new(&cli.chain);
        while let Some(iteration) = pass.next_iteration() {
            let clock = Instant::now();
            for token in tokens.sent(iteration) {
                first.write_all(token).await?;
            }
            for token in tokens.received() {
                last.read_exact(token).await.context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration, cli.flags.tasks)?;
        }
        Ok(())
    }
    .await;
    ((last, first), pass, result)
}
