//! A byte travels through N OS threads chained by pipes, as a bucket does in a fire brigade.
//!
//! One iteration: the driver writes a byte into the first pipe; each thread reads it, adds one, and writes it into the
//! next pipe; the driver reads it from the last pipe. That makes N + 1 hops, or K (N + 1) with `--tokens K`.
//!
//! Timed: one write and one read per hop, and what the kernel does to run the next thread. Left out: creating and
//! joining the threads, and the check of the bytes.
//!
//! Not to be taken for a context switch alone: `one-thread-brigade` times the write and the read by themselves. If the
//! kernel wakes a thread on another CPU, that thread may start while its waker still runs (see `--placement`). Several
//! tokens share switches, so that the time per hop is then no latency.
//!
//! To trust a figure, read this page and lib/contract/src/{pass,samples}.rs,
//! lib/brigade/src/{link,proof,stack,token}.rs: the rest of what it links is outside of the timed spans.

use std::io::{self, Read, Write};
use std::{fs::File, mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use brigade::{LinkFlags, Placement, StackFlags, StartLatch, Tokens, conclude, join, pin};
use contract::message::{Claim, Description};
use contract::{Program, Run};

/// Time switching between OS threads: pass a byte along a chain of threads joined by pipes
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of threads in the chain")))]
struct Cli {
    #[command(flatten)]
    links: LinkFlags,
    /// CPUs of the threads
    #[arg(long, value_enum, default_value = "free")]
    placement: Placement,
    #[command(flatten)]
    stack: StackFlags,
}

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        self.links.describe("thread-brigade", Claim::KernelSwitch, self.stack.needs())
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds the chain, has it driven, and takes it down.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let n = cli.links.tasks();
    let cpus = cli.placement.cpus(n + 1)?;
    let mut latch = StartLatch::new(n);
    let mut threads = Vec::new();
    let (mut last, first) = cli.links.link()?;
    for &cpu in &cpus[1..] {
        let (reader, to) = cli.links.link()?;
        let (from, guard) = (mem::replace(&mut last, reader), latch.guard()?);
        threads.push(cli.stack.spawn(n, move || {
            pin(cpu)?;
            guard.started();
            pass_on(from, to)
        })?);
    }
    pin(cpus[0]).context("cannot pin the driver")?;
    // The driver's ends are closed when it returns, and the end of file runs along the chain.
    let driven = latch.wait().and_then(|()| drive(run, first, last, Tokens::new(&cli.links.chain)));
    conclude(driven, threads.into_iter().map(|thread| Ok(join(thread)??)), run.visits())
}

/// A thread of the chain: takes a byte, adds one, and hands it on, until the end of file.
fn pass_on(mut from: File, mut to: File) -> io::Result<u64> {
    let (mut passed, mut byte) = (0, [0]);
    while from.read(&mut byte)? == 1 {
        byte[0] = byte[0].wrapping_add(1);
        to.write_all(&byte)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the bytes in, takes them out, and times that.
fn drive(run: &mut Run, mut first: File, mut last: File, mut tokens: Tokens<u8>) -> Result<()> {
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let bytes = tokens.set_out(iteration);

            let clock = Instant::now();
            bytes.chunks(1).try_for_each(|byte| first.write_all(byte))?;
            for byte in bytes.chunks_mut(1) {
                last.read_exact(byte).context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration)?;
        }
        run.finish(pass)?;
    }
    Ok(())
}
