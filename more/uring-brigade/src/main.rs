//! A token travels through N async tasks chained by pipes, on io_uring.
//!
//! One iteration: the driver writes a byte into the first link; each task reads it, adds one, and writes
//! it into the next link; the driver reads it from the last link: N + 1 hops. The driver is a task like
//! the others, and all of them run on one thread.
//!
//! Timed: what a hop takes of the executor and of the kernel. A task begins a read or a write and goes on
//! when that is complete; when no task can go on, one io_uring_enter submits what was begun, a write and
//! the read of the next task, and waits for a completion. Left out: creating and awaiting the tasks, and
//! the check of the bytes.
//!
//! Not to be taken for the price of a runtime that a server could use: the executor (`ring.rs`) is
//! the least that tasks on io_uring need. Nor for the price of switching tasks, which
//! `async-mem-brigade` measures.

mod ring;
mod setup;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use chain::{
    ByteTokens, ChainBuilder, ChainFlags, ChainsFlags, PollCount, StartGuard, StartLatch,
    TaskResults,
};
use clap::Parser;
use contract::message::{Claim, Description, Runtime};
use contract::{Flags, Pass, Program, Run};
use ring::{End, Ring, Task, Token};
use setup::Setup;

/// Pass a byte through a chain of async tasks on io_uring, and time it
#[derive(Clone, Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    chain: ChainFlags,
    /// Mode of the ring
    #[arg(long, value_enum, default_value = "deferred")]
    setup: Setup,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let needs = self.chain.needs(self.chain.token_size()) + self.setup.needs(self.entries());
        let claim = Claim::UserSwitch;
        let tasks = self.chain.describe(
            "uring-brigade",
            &self.flags,
            ChainsFlags::default(),
            claim,
            needs,
        )?;
        Ok(Description { runtime: Some(Runtime::one_thread("io_uring", None)), ..tasks })
    }
}

impl Cli {
    fn entries(&self) -> u32 {
        setup::entries(self.flags.tasks, self.chain.tokens)
    }

    /// Room for a token, written, so that it is resident before anything is timed.
    fn token(&self) -> Token {
        vec![u8::MAX; self.chain.token_size()].into_boxed_slice()
    }
}

/// Ends of links: the one to read from and the one to write to.
type Ends = (End, End);

/// The tasks of a chain, with their places.
type Tasks = Vec<(u32, Task<anyhow::Result<u64>>)>;

fn main() -> ExitCode {
    contract::main(measure)
}

/// The brigade, beside idle tasks that wait on links of their own.
fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let ring = Ring::new(cli.setup.open(cli.entries())?);
    let polls = PollCount::default();
    for _ in 0..cli.chain.idle {
        let (reader, writer) = cli.chain.transport.descriptors().context("the idle tasks")?;
        let (mut reader, mut token) = (ring.end(reader, None), cli.token());
        ring.spawn(polls.of(async move {
            let _ = reader.read(&mut token).await;
            drop(writer);
        }));
    }
    ring.run_ready();
    brigade(cli, &ring, run)?;
    polls.check(cli.chain.idle)
}

fn brigade(cli: &Cli, ring: &Ring, run: &mut Run) -> anyhow::Result<()> {
    let mut tasks = Tasks::new();
    let driven = build(cli, ring, &mut tasks).and_then(|mut ends| {
        while let Some(mut pass) = run.next_pass()? {
            let driver = ring.spawn(drive(cli.clone(), ends, pass));
            let result;
            (ends, pass, result) = ring.join(&driver)?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
    });
    // The driver's ends are closed now, and the end of file runs along the chain.
    let results = tasks.into_iter().map(|(place, task)| (place, ring.join(&task).flatten()));
    results.collect::<TaskResults>().into_result(driven, run.sent())
}

/// Builds a chain, waits until each task runs, and returns the driver's ends.
fn build(cli: &Cli, ring: &Ring, tasks: &mut Tasks) -> anyhow::Result<Ends> {
    let (count, chain) = (cli.flags.tasks, &cli.chain);
    let mut latch = StartLatch::new(count);
    let mut builder = ChainBuilder::new(count, chain.shuffle, || chain.transport.descriptors())?;
    while let Some(station) = builder.next_station()? {
        let fault = chain.fault.of(station.place);
        let ends = (ring.end(station.upstream, fault), ring.end(station.downstream, None));
        let task = ring.spawn(pass_on(ends, latch.guard(fault), cli.token()));
        tasks.push((station.place, task));
    }
    while !latch.is_open()? {
        ring.run_ready();
    }
    let (last, first) = builder.driver_ends();
    Ok((ring.end(last, None), ring.end(first, None)))
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the end of file.
async fn pass_on(
    (mut from, mut to): Ends,
    guard: StartGuard,
    mut token: Token,
) -> anyhow::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while from.read(&mut token).await? {
        token[0] = token[0].wrapping_add(1);
        to.write(&mut token).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that. A token that is taken out has the
/// memory of the one that was sent.
async fn drive(
    cli: Cli,
    (mut last, mut first): Ends,
    mut pass: Pass,
) -> (Ends, Pass, anyhow::Result<()>) {
    let result = async {
        let mut tokens = ByteTokens::new(&cli.chain, 1);
        let mut buffers = vec![cli.token(); cli.chain.tokens as usize];
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
