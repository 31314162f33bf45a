//! A token travels through N tasks of compio, chained by pipes, on io_uring.
//!
//! One iteration: the driver writes a byte into the first link; each task reads it, adds one, and writes
//! it into the next link; the driver, a task too, reads it from the last link: N + 1 hops. All tasks run
//! on one thread.
//!
//! Timed: what a hop takes of compio and of the kernel: a read and a write are each an operation that
//! compio allocates, submits and awaits. Left out: creating and awaiting the tasks, and the check of the bytes.
//!
//! Not to be taken for the least that tasks on io_uring cost: `uring-brigade` measures that. The ring has
//! compio's defaults, which are those of `uring-brigade --setup plain`.

mod link;
mod runtime;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use chain::{
    ByteTokens, ChainBuilder, ChainFlags, ChainsFlags, PollCount, StartGuard, StartLatch,
    TaskResults,
};
use clap::Parser;
use compio::runtime::{JoinHandle, Runtime};
use contract::message::{Claim, Description};
use contract::{Flags, Pass, Program, Run};
use link::{Reader, Token, Writer};
use runtime::join;

/// Pass a byte through a chain of compio tasks joined by pipes, and time it
#[derive(Clone, Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    chain: ChainFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> Result<Description> {
        let claim = Claim::UserSwitch;
        let needs = self.chain.needs(self.chain.token_size()) + runtime::needs();
        let tasks = self.chain.describe(
            "compio-brigade",
            &self.flags,
            ChainsFlags::default(),
            claim,
            needs,
        )?;
        Ok(Description { runtime: Some(runtime::describe()), ..tasks })
    }
}

/// Where a task reads, and where it writes.
type Ends = (Reader, Writer);

/// The tasks of a chain, with their places.
type Tasks = Vec<(u32, JoinHandle<Result<u64>>)>;

fn main() -> ExitCode {
    contract::main(measure)
}

/// The brigade, beside a chain of idle tasks where there are any.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let (runtime, count) = (runtime::open()?, cli.chain.idle);
    if count == 0 {
        return brigade(cli, &runtime, run);
    }
    let (mut idle, polls) = (Tasks::new(), PollCount::default());
    let built = runtime.enter(|| build(cli, &runtime, (count, Some(&polls)), &mut idle));
    let slept = built
        .context("the idle tasks")
        .and_then(|_ends| brigade(cli, &runtime, run).and_then(|()| polls.check(count)));
    results(&runtime, idle).into_idle_result(slept)
}

fn brigade(cli: &Cli, runtime: &Runtime, run: &mut Run) -> Result<()> {
    let mut tasks = Tasks::new();
    let built = runtime.enter(|| build(cli, runtime, (cli.flags.tasks, None), &mut tasks));
    let driven = built.and_then(|mut ends| {
        while let Some(mut pass) = run.next_pass()? {
            let driver = runtime.spawn(drive(cli.clone(), ends, pass));
            let result;
            (ends, pass, result) = join(runtime, driver)?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
    });
    // The driver's ends are closed now, and the end of file runs along the chain.
    results(runtime, tasks).into_result(driven, run.sent())
}

fn results(runtime: &Runtime, tasks: Tasks) -> TaskResults {
    tasks.into_iter().map(|(place, task)| (place, join(runtime, task).flatten())).collect()
}

/// Builds a chain of so many tasks, waits until each of them runs, and returns the driver's ends. The
/// polls of idle ones are counted.
fn build(
    cli: &Cli,
    runtime: &Runtime,
    (count, polls): (u32, Option<&PollCount>),
    tasks: &mut Tasks,
) -> Result<Ends> {
    let chain = &cli.chain;
    let mut latch = StartLatch::new(count);
    let mut builder = ChainBuilder::new(count, chain.shuffle, || link::link(chain.transport))?;
    while let Some(station) = builder.next_station()? {
        let fault = chain.fault.of(station.place);
        let ends = (station.upstream.with(fault), station.downstream);
        let task = pass_on(ends, latch.guard(fault), link::token(chain));
        let task = match polls {
            None => runtime.spawn(task),
            Some(polls) => runtime.spawn(polls.of(task)),
        };
        tasks.push((station.place, task));
    }
    while !latch.is_open()? {
        runtime.run();
    }
    Ok(builder.driver_ends())
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the end of file.
async fn pass_on((mut from, mut to): Ends, guard: StartGuard, mut token: Token) -> Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while from.read(&mut token).await? {
        token[0] = token[0].wrapping_add(1);
        to.write(&mut token).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive(cli: Cli, (mut last, mut first): Ends, mut pass: Pass) -> (Ends, Pass, Result<()>) {
    let result: Result<()> = async {
        let mut tokens = ByteTokens::new(&cli.chain, 1);
        let mut buffers = vec![link::token(&cli.chain); cli.chain.tokens as usize];
        while let Some(iteration) = pass.next_iteration() {
            for (buffer, token) in buffers.iter_mut().zip(tokens.sent(iteration)) {
                buffer.copy_from_slice(token);
            }

            let clock = Instant::now();
            for buffer in &mut buffers {
                first.write(buffer).await?;
            }
            for buffer in &mut buffers {
                ensure!(last.read(buffer).await?, "the chain ended early");
            }
            pass.record(clock.elapsed());

            for (token, buffer) in tokens.received().zip(&buffers) {
                token.copy_from_slice(buffer);
            }
            tokens.verify(iteration, cli.flags.tasks)?;
        }
        Ok(())
    }
    .await;
    ((last, first), pass, result)
}
