//! A byte travels through N async tasks chained by pipes, on io_uring.
//!
//! One iteration: the driver, an async task too, writes a byte into the first pipe; each task reads it, adds one, and
//! writes it into the next pipe; the driver reads it from the last pipe. That makes N + 1 hops, or K (N + 1) with
//! `--tokens K`. All tasks run on one thread.
//!
//! Timed: the executor's and the kernel's work in a hop. A task begins a read or a write and goes on when that is
//! complete; when no task can go on, one io_uring_enter submits what was begun, a write and the read of the next task,
//! and waits for a completion. Left out: creating and awaiting the tasks, and the check of the bytes.
//!
//! Not to be taken for the price of a runtime that a server could use: the executor (`ring.rs`) is the least that tasks
//! on io_uring need. Nor for the price of switching tasks, which `async-mem-brigade` measures.

mod ring;
mod setup;

use std::{mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use brigade::{LinkFlags, Tokens, conclude};
use contract::message::{Claim, Description, Runtime};
use contract::{Pass, Program, Run};

use ring::{End, Ring};
use setup::{entries, needs, open};

/// Time switching between async tasks on io_uring: pass a byte along a chain of tasks joined by pipes
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in the chain")))]
struct Cli {
    #[command(flatten)]
    links: LinkFlags,
}

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        let needs = needs(entries(&self.links.chain));
        Ok(Description {
            runtime: Some(Runtime::one_thread("io_uring", None)),
            ..self.links.describe("uring-brigade", Claim::UserSwitch, needs)?
        })
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds the chain, drives it, and takes it down.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let mut ring = Ring::new(open(entries(&cli.links.chain))?);
    let driven = build(cli, &mut ring).and_then(|mut driver| {
        while let Some(mut pass) = run.next_pass()? {
            (driver, pass) = ring.block_on(drive(driver, pass))??;
            run.finish(pass)?;
        }
        Ok(())
    });
    // The driver's ends are closed now, and the end of file runs along the chain.
    conclude(driven, ring.join()?, run.visits())
}

/// Builds the chain: each task runs until its first read. Returns its driver.
fn build(cli: &Cli, ring: &mut Ring) -> Result<TokenDriver> {
    let n = cli.links.tasks();
    let (last, first) = cli.links.link()?;
    let mut last = ring.end(last);
    for _ in 0..n {
        let (reader, writer) = cli.links.link()?;
        let (from, to) = (mem::replace(&mut last, ring.end(reader)), ring.end(writer));
        ring.spawn(pass_on(from, to));
    }
    Ok(TokenDriver { first: ring.end(first), last, tokens: Tokens::new(&cli.links.chain) })
}

/// A task of the chain: takes a byte, adds one, and hands it on, until the end of file.
async fn pass_on(mut from: End, mut to: End) -> Result<u64> {
    let mut passed = 0;
    while let Some(byte) = from.read().await? {
        to.write(byte.wrapping_add(1)).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver's ends of the chain, and the bytes that travel.
struct TokenDriver {
    first: End,
    last: End,
    tokens: Tokens<u8>,
}

/// The driver in one pass: sends the bytes in, takes them out, and times that.
async fn drive(mut driver: TokenDriver, mut pass: Pass) -> Result<(TokenDriver, Pass)> {
    let TokenDriver { first, last, tokens } = &mut driver;
    while let Some(iteration) = pass.next_iteration() {
        let bytes = tokens.set_out(iteration);

        let clock = Instant::now();
        for &byte in &*bytes {
            first.write(byte).await?;
        }
        for byte in bytes {
            *byte = last.read().await?.context("the chain ended early")?;
        }
        pass.record(clock.elapsed());

        tokens.verify(iteration)?;
    }
    Ok((driver, pass))
}
