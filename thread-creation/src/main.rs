//! What it takes to create OS threads.
//!
//! One iteration: create N threads, one after the other, each of which returns its own number at
//! once. Timed: the N calls of `spawn` (allocating and mapping the stack, clone(2), and whatever
//! the new threads do to their creator meanwhile). Left out: the joins, which follow.
//!
//! The same number of iterations is then repeated with one more clock reading for each thread,
//! which gives two distributions, apart so that those readings (some 20 ns each) burden no sample:
//! - `creation`: one call of `spawn`;
//! - `spawn_to_body`: from that call to the first instruction of the thread's body.
//!
//! Threads end while others are being created, so this is not the price of holding N threads at
//! once; nor does it contain the join.
//!
//! With `--stacks arena` the stacks are mapped before the clock starts, and `spawn` is little more
//! than clone(2). They are used again in each iteration, so that the first one, which touches them
//! for the first time, should be a warm-up.
//!
//! `--floor` leaves out all but clone3(2): see `floor.rs`, which has a loop of its own. So has
//! `--sleep`, with threads that sleep and are joined within the timed span: see `sleepers.rs`.

mod floor;
mod sleepers;

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Parser;
use harness::args::{Defaults, Run, Stack};
use harness::delays::Delays;
use harness::futex::FutexHash;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::placement::{Layout, Place};
use harness::ready::Muster;
use harness::sleepers::Sleep;
use harness::threads::raw::RawThreads;
use harness::threads::{Spawner, Thread};
use harness::timer_slack::TimerSlack;
use harness::{Program, Session, panics, signals};
use serde::Serialize;

/// Time the creation of OS threads
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    #[command(flatten)]
    #[serde(flatten)]
    stack: Stack,
    #[command(flatten)]
    #[serde(flatten)]
    futex_hash: FutexHash,
    /// Create threads by clone3(2) alone, on stacks of one mapping that they never touch: the least
    /// that a thread can cost. They have no thread-local storage and could run neither C nor Rust;
    /// they only count themselves and end. For x86-64 and AArch64; where a sandbox refuses clone3, by
    /// clone(2), with a note
    #[arg(long, conflicts_with_all = ["stacks", "sleep"])]
    floor: bool,
    #[command(flatten)]
    #[serde(flatten)]
    sleep: Sleep,
    #[command(flatten)]
    #[serde(flatten)]
    timer_slack: TimerSlack,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults {
        tasks: 1000,
        iters: 100,
        warmups: 10,
    };

    fn run(&self) -> &Run {
        &self.run
    }
}

fn main() -> ExitCode {
    harness::main(measure)
}

fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    cli.sleep.check(cli.timer_slack.timer_slack)?;
    cli.place.confine(Layout::Single)?;
    cli.futex_hash.set()?;
    cli.timer_slack.set()?;
    if let Some(time) = cli.sleep.sleep {
        return sleepers::measure(cli, time, session);
    }
    session.require(&demand(cli))?;
    if cli.floor {
        return floor::measure(cli, session);
    }

    let spawner =
        Spawner::new(cli.stack, cli.run.tasks).map_err(|e| explain("map the stacks", 0, e, cli))?;
    let mut laps = session.laps();
    let result = create(cli, &spawner, &mut laps);
    session.timed(laps);
    result?;

    let mut delays = Delays::new(&cli.run);
    let result = create_stamped(cli, &spawner, &mut delays);
    delays.report(session);
    // Its memory is not the threads'.
    drop(delays);
    result?;

    hold(cli, &spawner, session)
}

/// What the run needs of the system.
fn demand(cli: &Cli) -> Demand {
    let threads = match cli.floor {
        true => RawThreads::demand(cli.stack),
        false => Demand::threads(cli.stack),
    };
    // The pipe that they wait at.
    threads + Demand::a_pipe()
}

/// Creates N threads in each lap and times that.
fn create(cli: &Cli, spawner: &Spawner, laps: &mut Laps) -> anyhow::Result<()> {
    let mut threads = Threads::new(cli, spawner);
    while let Some(_lap) = laps.advance()? {
        let clock = Instant::now();
        for k in 0..cli.run.tasks {
            threads.spawn(k, move || k)?;
        }
        laps.record(clock.elapsed());

        for (k, returned) in (0..).zip(threads.join()?) {
            ensure!(returned == k, "thread {k} returned {returned}");
        }
    }
    Ok(())
}

/// Creates as many again, reading the clock between the calls and first thing in each thread.
fn create_stamped(cli: &Cli, spawner: &Spawner, delays: &mut Delays) -> anyhow::Result<()> {
    let mut threads = Threads::new(cli, spawner);
    while delays.advance() {
        let mut called = Instant::now();
        for k in 0..cli.run.tasks {
            threads.spawn(k, move || called.elapsed())?;
            called = delays.returned(called);
        }
        for to_body in threads.join()? {
            delays.began(to_body);
        }
    }
    Ok(())
}

/// Holds N threads at once, all asleep, for the look at the memory and the user's command.
fn hold(cli: &Cli, spawner: &Spawner, session: &mut Session) -> anyhow::Result<()> {
    if signals::received().is_some() {
        return Ok(());
    }
    let begun = Instant::now();
    let mut threads = Threads::new(cli, spawner);
    let mut muster = Muster::of(cli.run.tasks);
    // They wait for a byte each from one pipe, in a queue of their own: sleepers in the kernel's
    // table of futexes are in the way of every lock of the process (see `harness::futex`).
    let (reader, mut key) =
        io::pipe().map_err(|e| explain("make the pipe that they wait at", 0, e, cli))?;
    let gate = Arc::new(reader);
    let result = (0..cli.run.tasks)
        .try_for_each(|k| {
            let (arrival, gate) = (muster.arrival(), Arc::clone(&gate));
            threads.spawn(k, move || {
                arrival.arrive();
                // One byte, or the end of the file: either way it is time to go.
                let _ = (&*gate).read(&mut [0]);
            })
        })
        .and_then(|()| muster.wait());
    if result.is_ok() {
        session.built(begun.elapsed());
        session.at_rest();
    }
    // One by one: the end of the file wakes all of them at once, to wait for each other. Where one
    // is missing that is the way, since nobody would read its byte.
    let opened = match &result {
        Ok(()) => key.write_all(&vec![0; threads.alive.len()]),
        Err(_) => Ok(()),
    };
    drop(key);
    threads.join()?;
    result?;
    opened.context("cannot wake the threads")
}

/// The threads of a round, which are joined also when creating one more fails.
struct Threads<'a, T> {
    cli: &'a Cli,
    spawner: &'a Spawner,
    alive: Vec<Thread<T>>,
}

impl<'a, T: Send + 'static> Threads<'a, T> {
    fn new(cli: &'a Cli, spawner: &'a Spawner) -> Self {
        Threads {
            cli,
            spawner,
            alive: Vec::with_capacity(cli.run.tasks as usize),
        }
    }

    /// Creates the `k`th thread.
    fn spawn(&mut self, k: u32, body: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<()> {
        let thread = self
            .spawner
            .spawn(body)
            .map_err(|e| explain("create a thread", k, e, self.cli))?;
        self.alive.push(thread);
        Ok(())
    }

    /// Awaits all threads and returns what they returned, in their order.
    fn join(&mut self) -> anyhow::Result<Vec<T>> {
        let joined = self.alive.drain(..).map(Thread::join);
        joined
            .map(|result| result.map_err(|panic| panics::error(&*panic)))
            .collect()
    }
}

/// Which limit made a step fail when `built` threads were there.
fn explain(what: &str, built: u32, error: io::Error, cli: &Cli) -> anyhow::Error {
    limits::explain(what, built, cli.run.tasks, error, &demand(cli))
}
