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
//! Not to be taken for the price of a runtime that a server could use: the executor (`ring/mod.rs`) is
//! the least that tasks on io_uring need. Nor for the price of switching tasks, which
//! `async-mem-brigade` measures.

mod ring;
mod setup;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use chain::{
    ChainBuilder, ChainFlags, Pattern, PollCount, StartGuard, StartLatch, TaskResults, WorkingSet,
};
use clap::Parser;
use contract::message::{Claim, Description, Runtime};
use contract::{Flags, Pass, Program, Run};
use io_uring::IoUring;

use ring::{Reader, Ring, Task, Token, Writer, yield_now};
use setup::{Setup, Shape};

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
        let needs = self.chain.needs(self.chain.token_size()) + self.shape().needs();
        let claim = Claim::UserSwitch;
        let described = self.chain.describe("uring-brigade", &self.flags, claim, needs)?;
        Ok(Description {
            runtime: Some(Runtime {
                name: "io_uring".to_owned(),
                version: None,
                flavor: "current-thread".to_owned(),
                workers: 1,
            }),
            ..described
        })
    }
}

impl Cli {
    fn shape(&self) -> Shape {
        Shape::of(self.setup, self.flags.tasks, &self.chain)
    }
}

type Tasks = Vec<(u32, Task<u64>)>;

/// The ends of the chain that the driver has.
type Ends<T> = (Reader<T>, Writer<T>);

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let io = cli.shape().open()?;
    let no_work = || || ();
    let work = || {
        let mut memory = WorkingSet::new(cli.chain.touch);
        move || memory.touch()
    };
    // Written, so that it is resident before anything is timed.
    let token = |size| vec![u8::MAX; size].into_boxed_slice();
    match (cli.chain.token_size(), cli.chain.touch.0) {
        (1, 0) => brigade(cli, run, io, [0], no_work),
        (1, _) => brigade(cli, run, io, [0], work),
        (size, 0) => brigade(cli, run, io, token(size), no_work),
        (size, _) => brigade(cli, run, io, token(size), work),
    }
}

fn brigade<T: Token, W: Fn() -> H, H: FnMut() + 'static>(
    cli: &Cli,
    run: &mut Run,
    io: IoUring,
    token: T,
    work: W,
) -> anyhow::Result<()> {
    Brigade { cli, ring: Ring::new(io), token, work }.beside_idle(run)
}

/// Chains whose tokens are a `T` and whose tasks do what `work` makes at each hop.
struct Brigade<'a, T, W> {
    cli: &'a Cli,
    ring: Ring<T>,
    token: T,
    work: W,
}

impl<T: Token, W: Fn() -> H, H: FnMut() + 'static> Brigade<'_, T, W> {
    /// The brigade, beside a chain of idle tasks where there are any.
    fn beside_idle(&self, run: &mut Run) -> anyhow::Result<()> {
        let count = self.cli.chain.idle;
        if count == 0 {
            return self.run(run);
        }
        let (mut idle, polls) = (Tasks::new(), PollCount::default());
        let built = self.ring.block_on(self.build(count, Some(&polls), &mut idle)).flatten();
        let slept = built
            .context("the idle tasks")
            .and_then(|_ends| self.run(run).and_then(|()| polls.check(count)));
        self.join(idle).into_idle_result(slept)
    }

    fn run(&self, run: &mut Run) -> anyhow::Result<()> {
        let (cli, ring) = (self.cli, &self.ring);
        let mut tasks = Tasks::new();
        let built = ring.block_on(self.build(cli.flags.tasks, None, &mut tasks));
        let driven = built.flatten().and_then(|mut ends| {
            while let Some(mut pass) = run.next_pass()? {
                let driver = drive(cli.clone(), self.token.clone(), ends, pass);
                let result;
                (ends, pass, result) = ring.block_on(ring.spawn(driver))??;
                run.finish(pass)?;
                result?;
            }
            Ok(())
        });
        // The driver's ends are closed now, and the end of file runs along the chain.
        self.join(tasks).into_result(driven, run.sent())
    }

    fn join(&self, tasks: Tasks) -> TaskResults {
        let join = |(place, task)| (place, self.ring.block_on(task).flatten());
        tasks.into_iter().map(join).collect()
    }

    /// Builds a chain, waits until each task runs, and returns the driver's ends. `polls` are those of
    /// idle tasks.
    async fn build(
        &self,
        count: u32,
        polls: Option<&PollCount>,
        tasks: &mut Tasks,
    ) -> anyhow::Result<Ends<T>> {
        let (chain, ring) = (&self.cli.chain, &self.ring);
        let mut latch = StartLatch::new(count);
        let link = || {
            let (reader, writer) = chain.transport.descriptors()?;
            Ok((ring.reader(reader), ring.writer(writer)))
        };
        let mut builder = ChainBuilder::new(count, chain.shuffle, link)?;
        while let Some(station) = builder.next_station()? {
            let fault = chain.fault.of(station.place);
            let (from, to) = (station.upstream.with(fault), station.downstream);
            let task = pass_on(from, to, self.token.clone(), (self.work)(), latch.guard(fault));
            let task = match polls {
                None => ring.spawn(task),
                Some(polls) => ring.spawn(polls.of(task)),
            };
            tasks.push((station.place, task));
        }
        while !latch.is_open()? {
            yield_now().await;
        }
        Ok(builder.driver_ends())
    }
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the end of file.
async fn pass_on<T: Token>(
    mut from: Reader<T>,
    mut to: Writer<T>,
    mut token: T,
    mut work: impl FnMut(),
    guard: StartGuard,
) -> anyhow::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while from.read(&mut token).await? {
        work();
        let bytes = token.bytes();
        bytes[0] = bytes[0].wrapping_add(1);
        to.write(&mut token).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that. A token that is taken out has the
/// memory of the one that was sent.
async fn drive<T: Token>(
    cli: Cli,
    token: T,
    (mut last, mut first): Ends<T>,
    mut pass: Pass,
) -> anyhow::Result<(Ends<T>, Pass, anyhow::Result<()>)> {
    let result = async {
        let pattern = Pattern::new(cli.chain.token_size());
        let mut received = pattern.room(cli.chain.tokens, 0);
        let mut tokens = vec![token; cli.chain.tokens as usize];
        while let Some(iteration) = pass.next_iteration() {
            let start = iteration as u8;
            for (k, token) in tokens.iter_mut().enumerate() {
                let sent = pattern.token(start.wrapping_add(k as u8));
                token.bytes().copy_from_slice(sent);
            }

            let clock = Instant::now();
            for token in &mut tokens {
                first.write(token).await?;
            }
            for token in &mut tokens {
                ensure!(last.read(token).await?, "the chain ended early");
            }
            pass.record(clock.elapsed());

            for (part, token) in pattern.tokens(&mut received).zip(&mut tokens) {
                part.copy_from_slice(token.bytes());
            }
            pattern.verify(&received, start, cli.flags.tasks)?;
        }
        Ok(())
    };
    let result = result.await;
    Ok(((last, first), pass, result))
}
