//! A byte travels through N Tokio tasks chained by pipes.
//!
//! One iteration: the driver, a spawned task too, writes a byte into the first pipe; each task reads it, adds one, and
//! writes it into the next pipe; the driver reads it from the last pipe. That makes N + 1 hops, or K (N + 1) with
//! `--tokens K`.
//!
//! Timed: each hop makes one epoll_wait, one read that returns the byte, one write, and one read that finds the pipe
//! empty, after which the task waits (see `--read-buffer`). The runtime's own work is timed too: on the multi-thread
//! scheduler, the default, it grows with the number of workers. Left out: creating and awaiting the tasks, and the check
//! of the bytes.
//!
//! With `--driver block-on` the driver is the main thread, as in `#[tokio::main]`, and no task: beside the multi-thread
//! scheduler the kernel then switches to that thread and back in each iteration. In a chain of 500 that is little; in a
//! chain of two, most of the time.
//!
//! Not to be taken for a switch between tasks, which needs no system call (`async-mem-brigade`). For pipes and one token,
//! `one-thread-brigade --nonblocking` makes this program's system calls without its tasks.
//!
//! To trust a figure, read this page and lib/contract/src/{pass,samples}.rs, lib/brigade/src/{link,proof,token}.rs,
//! lib/runtime/src/link.rs: the rest of what it links is outside of the timed spans.

use std::{io, mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use brigade::{LinkFlags, StartGuard, StartLatch, Tokens, conclude};
use contract::message::{Claim, Description};
use contract::{Pass, Program, Run};
use runtime::{AsyncReader, AsyncWriter, DriverKind, RuntimeFlags, io_needs, join, link, wait_for};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

/// Time switching between async (Tokio) tasks: pass a byte along a chain of tasks joined by pipes
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in the chain")))]
struct Cli {
    #[command(flatten)]
    links: LinkFlags,
    /// Bytes that each read asks for: after a read that fills its buffer Tokio reads again before the task waits
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1 << 16), help_heading = "Advanced")]
    read_buffer: u32,
    /// Where the driver runs
    #[arg(long, value_enum, default_value = "spawned", help_heading = "Advanced")]
    driver: DriverKind,
    #[command(flatten)]
    runtime: RuntimeFlags,
}

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        let needs = io_needs(self.read_buffer as usize);
        self.runtime.describe(self.links.describe("async-brigade", Claim::UserSwitch, needs)?)
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds the chain, drives it, and takes it down.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let runtime = cli.runtime.build(|builder| builder.enable_io())?;
    let mut tasks = Vec::new();
    let driven = runtime.block_on(build(cli, &mut tasks)).and_then(|mut driver| {
        // Between passes this thread waits for a request outside the runtime, so that it blocks no worker.
        while let Some(mut pass) = run.next_pass()? {
            let driving = drive(driver, pass);
            (driver, pass) = match cli.driver {
                DriverKind::Spawned => runtime.block_on(join(runtime.spawn(driving))),
                DriverKind::BlockOn => runtime.block_on(driving),
            }?;
            run.finish(pass)?;
        }
        Ok(())
    });
    // The driver's ends are closed now, and the end of file runs along the chain.
    conclude(driven, tasks.into_iter().map(|task| runtime.block_on(join(task))), run.visits())
}

/// Builds the chain, and waits until each task runs. Returns its driver.
async fn build(cli: &Cli, tasks: &mut Vec<JoinHandle<io::Result<u64>>>) -> Result<Driver> {
    let n = cli.links.tasks();
    let mut latch = StartLatch::new(n);
    let (mut last, first) = link(&cli.links)?;
    for _ in 0..n {
        let (reader, to) = link(&cli.links)?;
        let (from, guard) = (mem::replace(&mut last, reader), latch.guard()?);
        tasks.push(match cli.read_buffer {
            1 => tokio::spawn(pass_on(from, to, [0], guard)),
            // Not zeros: their pages would not be resident before timing starts.
            size => tokio::spawn(pass_on(from, to, vec![u8::MAX; size as usize], guard)),
        });
    }
    wait_for(&mut latch).await?;
    Ok(Driver { first, last, tokens: Tokens::new(&cli.links.chain) })
}

/// A task of the chain: takes what bytes there are, adds one to each, and hands them on, until the end of file.
async fn pass_on<B: AsMut<[u8]>>(
    mut from: AsyncReader,
    mut to: AsyncWriter,
    mut buffer: B,
    guard: StartGuard,
) -> io::Result<u64> {
    guard.started();
    let (mut passed, bytes) = (0, buffer.as_mut());
    while let read @ 1.. = from.read(bytes).await? {
        for byte in bytes[..read].chunks_mut(1) {
            byte[0] = byte[0].wrapping_add(1);
            to.write_all(byte).await?;
            passed += 1;
        }
    }
    Ok(passed)
}

/// The driver's ends of the chain, and the bytes that travel.
struct Driver {
    first: AsyncWriter,
    last: AsyncReader,
    tokens: Tokens<u8>,
}

/// The driver in one pass: sends the bytes in, takes them out, and times that.
async fn drive(mut driver: Driver, mut pass: Pass) -> Result<(Driver, Pass)> {
    let Driver { first, last, tokens } = &mut driver;
    while let Some(iteration) = pass.next_iteration() {
        let bytes = tokens.set_out(iteration);

        let clock = Instant::now();
        for byte in bytes.chunks(1) {
            first.write_all(byte).await?;
        }
        for byte in bytes.chunks_mut(1) {
            last.read_exact(byte).await.context("the chain ended early")?;
        }
        pass.record(clock.elapsed());

        tokens.verify(iteration)?;
    }
    Ok((driver, pass))
}
