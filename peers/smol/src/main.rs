//! A number travels through N tasks of smol's executor on one thread, chained by smol's channels.
//!
//! One iteration: the driver, an async task too, sends a number into the first channel; each task receives it, adds one,
//! and sends it into the next channel; the driver receives it from the last channel. That makes N + 1 hops, or K (N + 1)
//! with `--tokens K`. A channel holds one number.
//!
//! Timed: per hop a send, a wake-up by the executor and a receive, and the executor's work to run the next task. Left out:
//! creating and awaiting the tasks, and the check of the numbers.
//!
//! Not to be taken for a comparison of executors alone: the channel is smol's as well.

use std::io::{self, ErrorKind::BrokenPipe};
use std::{mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use async_channel::{Receiver, Sender, bounded};
use async_executor::LocalExecutor;
use brigade::{ChainFlags, StartGuard, StartLatch, Tokens, conclude};
use contract::message::{Claim, Description, Need, Needs, Runtime};
use contract::{Pass, Program, Run};
use futures_lite::future::{block_on, yield_now};

/// Time switching between smol's async tasks without I/O: pass a number along a chain of tasks joined by channels
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in the chain")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
}

/// Most bytes that a task and its channel take.
const TASK_BYTES: u64 = 2048;

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        self.chain.ensure_room(u64::from(self.chain.tasks()) + 1)?;
        let needs = Needs { bytes: Need::new(TASK_BYTES, TASK_BYTES), ..Needs::default() };
        Ok(Description {
            runtime: Some(Runtime::one_thread("async-executor", None)),
            ..self.chain.describe("smol-mem-brigade", Claim::UserSwitch, needs)
        })
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds the chain, drives it, and takes it down.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let executor = LocalExecutor::new();
    let mut latch = StartLatch::new(cli.chain.tasks());
    let mut tasks = Vec::new();
    let (first, mut last) = bounded(1);
    for _ in 0..cli.chain.tasks() {
        let (to, receiver) = bounded(1);
        let from = mem::replace(&mut last, receiver);
        tasks.push(executor.spawn(pass_on(from, to, latch.guard()?)));
    }
    let started = async {
        while !latch.is_open()? {
            yield_now().await;
        }
        Ok(())
    };
    let driven = block_on(executor.run(started)).and_then(|()| {
        let mut driver = Driver { first, last, tokens: Tokens::new(&cli.chain) };
        while let Some(mut pass) = run.next_pass()? {
            (driver, pass) = block_on(executor.run(executor.spawn(drive(driver, pass))))?;
            run.finish(pass)?;
        }
        Ok(())
    });
    // The driver's ends are gone now, and the end runs along the chain.
    conclude(driven, tasks.into_iter().map(|task| Ok(block_on(executor.run(task))?)), run.visits())
}

/// A task of the chain: takes a number, adds one, and hands it on, until the end.
async fn pass_on(from: Receiver<usize>, to: Sender<usize>, guard: StartGuard) -> io::Result<u64> {
    guard.started();
    let mut passed = 0;
    while let Ok(number) = from.recv().await {
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
