//! A token travels through N Tokio tasks chained by pipes.
//!
//! One iteration: the driver writes a byte into the first link; each task reads it, adds one, and
//! writes it into the next link; the driver reads it from the last link: N + 1 hops. The driver is a
//! spawned task like the others: a driver in `block_on` stands outside the pool of workers, and each
//! iteration would pay for waking its thread.
//!
//! Timed: what a hop takes of Tokio and of the kernel: one write, two reads (the second finds nothing
//! and tells the task to wait; see `--read-buffer`), and the runtime's epoll_wait; with `--touch`, the
//! use of memory in between. Left out: creating and awaiting the tasks, and the check of the bytes.
//!
//! Not to be taken for the price of switching tasks, which needs no system call: `async-mem-brigade`
//! measures that, and `one-thread-brigade --nonblocking` the same system calls without tasks.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::ensure;
use chain::{
    ChainBuilder, ChainFlags, FaultFlags, Needed, Pattern, ReadBuffer, StartGuard, StartLatch,
    TaskResults, TokenBuffer, WorkingSet,
};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Pass, Program, Run};
use runtime::{AsyncReader, AsyncWriter, Driven, RuntimeFlags};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinHandle, yield_now};

/// Pass a byte through a chain of Tokio tasks joined by pipes, and time it
#[derive(Clone, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    chain: ChainFlags,
    #[command(flatten)]
    read_buffer: ReadBuffer,
    #[command(flatten)]
    runtime: RuntimeFlags,
    #[command(flatten)]
    fault: FaultFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        runtime::check_transport(self.chain.transport)?;
        self.chain.check_room(Needed::Along(self.flags.tasks))?;
        self.fault.check(self.flags.tasks)?;
        let (chain, claim) = (&self.chain, Claim::UserSwitch);
        let needs = chain.needs(self.read_buffer.size(chain)?) + runtime::io_needs();
        let chain = chain.describe("async-brigade", &self.flags, claim, needs);
        self.runtime.describe(chain)
    }
}

type Tasks = Vec<(u32, JoinHandle<anyhow::Result<u64>>)>;

/// The ends of the chain that the driver has.
type Ends = (AsyncWriter, AsyncReader);

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let runtime = cli.runtime.build(true)?;
    let mut tasks = Tasks::new();
    let built = runtime.block_on(build(cli, &mut tasks));
    let driven = built.and_then(|ends| {
        runtime::drive(&runtime, run, ends, |ends, pass| drive(cli.clone(), ends, pass))
    });
    // The driver's ends are closed now, and the end of file runs along the chain.
    let mut results = TaskResults::default();
    for (place, task) in tasks {
        results.add(place, runtime.block_on(runtime::join(task)));
    }
    results.into_result(driven, run.iterations() * u64::from(cli.chain.tokens))
}

/// Builds the chain, waits until each task runs, and returns the driver's ends.
async fn build(cli: &Cli, tasks: &mut Tasks) -> anyhow::Result<Ends> {
    let (chain, read_size) = (&cli.chain, cli.read_buffer.size(&cli.chain)?);
    let mut latch = StartLatch::new(cli.flags.tasks);
    let link = || runtime::link(chain.transport);
    let mut builder = ChainBuilder::new(cli.flags.tasks, chain.shuffle, link)?;
    while let Some(station) = builder.next_station()? {
        let fault = cli.fault.of(station.place);
        let guard = latch.guard(fault);
        let (from, to) = (station.upstream.with(fault), station.downstream);
        let task = match chain.is_plain() && read_size == 1 {
            true => tokio::spawn(pass_bytes(from, to, guard)),
            false => {
                let buffer = TokenBuffer::new(chain, read_size);
                let memory = WorkingSet::new(chain.touch);
                tokio::spawn(pass_tokens(from, to, buffer, memory, guard))
            }
        };
        tasks.push((station.place, task));
    }
    while !latch.is_open()? {
        yield_now().await;
    }
    Ok(builder.driver_ends())
}

/// A task of the chain: takes a byte, adds one to it, hands it on, until the end of file.
async fn pass_bytes(
    mut from: AsyncReader,
    mut to: AsyncWriter,
    guard: StartGuard,
) -> anyhow::Result<u64> {
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
    mut from: AsyncReader,
    mut to: AsyncWriter,
    mut buffer: TokenBuffer,
    mut memory: WorkingSet,
    guard: StartGuard,
) -> anyhow::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    loop {
        let read = from.read(buffer.room()).await?;
        if read == 0 {
            buffer.end()?;
            return Ok(passed);
        }
        for token in buffer.whole(read) {
            token[0] = token[0].wrapping_add(1);
            memory.touch();
            to.write_all(token).await?;
            passed += 1;
        }
    }
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive(cli: Cli, (mut first, mut last): Ends, mut pass: Pass) -> Driven<Ends> {
    let result = async {
        let (tokens, read_size) = (cli.chain.tokens, cli.read_buffer.size(&cli.chain)?);
        let pattern = Pattern::new(&cli.chain);
        let mut received = pattern.room(tokens, read_size);
        let all = received.len() - read_size;
        while let Some(iteration) = pass.next_iteration() {
            let start = iteration as u8;

            let clock = Instant::now();
            for k in 0..tokens {
                let token = pattern.token(start.wrapping_add(k as u8));
                first.write_all(token).await?;
            }
            let mut came = 0;
            while came < all {
                let read = last.read(&mut received[came..came + read_size]).await?;
                ensure!(read > 0, "the chain ended early");
                came += read;
            }
            pass.record(clock.elapsed());

            ensure!(came == all, "more tokens came out than went in");
            pattern.verify(&received[..all], start, cli.flags.tasks)?;
        }
        Ok(())
    };
    let result = result.await;
    ((first, last), pass, result)
}
