//! A number travels through N Tokio tasks chained by channels: no I/O, and on one thread no system call.
//!
//! One iteration: the driver, an async task too, sends a number into the first channel; each task receives it, adds one,
//! and sends it into the next channel; the driver receives it from the last channel. That makes N + 1 hops, or K (N + 1)
//! with `--tokens K`. A channel holds one number.
//!
//! Timed: each hop is a send, the wake-up of the next task, the runtime's work to run that task, and its receive. Left
//! out: creating and awaiting the tasks, and the check of the numbers.
//!
//! Not to be taken for a switch alone, since a hop contains the channel's work: in `floors --of executor`, executor and
//! links do only what a hop needs. The current-thread scheduler is the default; on the multi-thread scheduler, tasks may
//! move between CPUs, and workers wake each other by futex(2).
//!
//! To trust a figure, read this page and lib/contract/src/{pass,samples}.rs, lib/brigade/src/{proof,token}.rs: the rest
//! of what it links is outside of the timed spans.

use std::io::{self, ErrorKind::BrokenPipe};
use std::{mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use brigade::{ChainFlags, StartGuard, StartLatch, Tokens, conclude};
use contract::message::{Claim, Description, Need, Needs};
use contract::{Pass, Program, Run};
use runtime::{RuntimeFlags, join, wait_for};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// Time switching between async tasks without I/O: pass a number along a chain of tasks joined by channels
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in the chain")))]
#[command(mut_arg("flavor", |arg| arg.default_value("current-thread")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
    #[command(flatten)]
    runtime: RuntimeFlags,
}

/// Upper bound of the bytes of a task and its channel, which has two blocks of 32 numbers from its 33rd number on.
const TASK_BYTES: u64 = 2048;

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        self.chain.ensure_room(u64::from(self.chain.tasks()) + 1)?;
        let needs = Needs { bytes: Need::new(TASK_BYTES, TASK_BYTES), ..Needs::default() };
        self.runtime.describe(self.chain.describe("async-mem-brigade", Claim::UserSwitch, needs))
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds the chain, drives it, and takes it down.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let runtime = cli.runtime.build(|builder| builder)?;
    let mut tasks = Vec::new();
    let driven = runtime.block_on(build(cli, &mut tasks)).and_then(|mut driver| {
        // Between passes this thread waits for a request outside the runtime, so that it blocks no worker.
        while let Some(mut pass) = run.next_pass()? {
            (driver, pass) = runtime.block_on(join(runtime.spawn(drive(driver, pass))))?;
            run.finish(pass)?;
        }
        Ok(())
    });
    // The driver is gone and with it the first channel's sender: the tasks end one after the other.
    conclude(driven, tasks.into_iter().map(|task| runtime.block_on(join(task))), run.visits())
}

/// Builds the chain, and waits until each task runs. Returns its driver.
async fn build(cli: &Cli, tasks: &mut Vec<JoinHandle<io::Result<u64>>>) -> Result<Driver> {
    let mut latch = StartLatch::new(cli.chain.tasks());
    let (first, mut last) = channel(1);
    for _ in 0..cli.chain.tasks() {
        let (to, receiver) = channel(1);
        let from = mem::replace(&mut last, receiver);
        tasks.push(tokio::spawn(pass_on(from, to, latch.guard()?)));
    }
    wait_for(&mut latch).await?;
    Ok(Driver { first, last, tokens: Tokens::new(&cli.chain) })
}

/// A task of the chain: takes a number, adds one, and hands it on, until the end. Compiled by rustc 1.95, `Some(number)`
/// without `ref` would make a hop 4 % longer.
async fn pass_on(
    mut from: Receiver<usize>,
    to: Sender<usize>,
    guard: StartGuard,
) -> io::Result<u64> {
    guard.started();
    let mut passed = 0;
    while let Some(ref number) = from.recv().await {
        to.send(number + 1).await.map_err(|_| BrokenPipe)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver's ends of the chain, and the numbers that travel.
struct Driver {
    first: Sender<usize>,
    last: Receiver<usize>,
    tokens: Tokens<usize>,
}

/// The driver in one pass: sends the numbers in, takes them out, and times that.
async fn drive(mut driver: Driver, mut pass: Pass) -> Result<(Driver, Pass)> {
    let Driver { first, last, tokens } = &mut driver;
    while let Some(iteration) = pass.next_iteration() {
        let numbers = tokens.set_out(iteration);

        let clock = Instant::now();
        for &number in &*numbers {
            first.send(number).await.ok().context("the chain ended early")?;
        }
        for number in numbers {
            *number = last.recv().await.context("the chain ended early")?;
        }
        pass.record(clock.elapsed());

        tokens.verify(iteration)?;
    }
    Ok((driver, pass))
}
