//! Pairs of threads, or of async tasks, hand a number to and fro, all pairs at once: does a hop cost the same when all
//! CPUs make hops?
//!
//! One iteration: each of C pairs (`--chains`) makes R round trips (`--trips`). The pair's driver sends a number, its
//! partner adds one and sends it back: 2 R C hops. With `--tasks N` a pair has N partners in a row.
//!
//! Timed: from the start of the first driver to the end of the last one. The drivers start together, each on a thread of
//! its own; many trips make an iteration so long that the start hardly counts. Left out: building the pairs.
//!
//! The pairs have nothing in common but the machine, the kernel, and, with `--flavor multi-thread`, the runtime. With
//! `--flavor current-thread` each driver's thread runs a runtime of its own.

mod tasks;
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use brigade::{
    ChainFlags, StackFlags, Tokens, Transport, allowed_cpus, conclude, pin, worker_needs,
};
use clap::ValueEnum;
use contract::message::{Description, Need, Needs};
use contract::{BadUsage, Defaults, Flags, Program, Run, limits};
use host::console;
use runtime::{DriverKind, Flavor, On, RuntimeFlags, io_needs};

/// Time pairs of threads, or of async tasks, that hand a number to and fro, all pairs at once
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of partners of each driver")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Number of pairs that work at the same time
    #[arg(long, value_name = "C", allow_negative_numbers = true, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    chains: u32,
    /// Round trips that each pair makes in an iteration
    #[arg(long, value_name = "R", allow_negative_numbers = true, default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    trips: u32,
    /// Which tasks the pairs are made of
    #[arg(long, value_enum, default_value = "thread")]
    on: On,
    /// What joins a pair
    #[arg(long, value_enum, default_value = "pipe")]
    over: Over,
    /// CPUs of the threads
    #[arg(long, value_enum, default_value = "free")]
    placement: Placement,
    /// Where the drivers of async tasks run
    #[arg(long, value_enum, default_value = "spawned", help_heading = "Advanced")]
    driver: DriverKind,
    #[command(flatten)]
    stack: StackFlags,
    #[command(flatten)]
    runtime: RuntimeFlags,
}

/// What joins a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Over {
    /// pipes
    Pipe,
    /// memory: futexes between threads, channels between async tasks
    Memory,
}

/// CPUs of the threads of all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Placement {
    /// as the kernel decides
    Free,
    /// a pair on one CPU, the next pair on the next CPU
    Chain,
}

/// Most bytes of a link in memory with the task that reads it.
const LINK_BYTES: u64 = 2048;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 1000, warmup: 10 };

    fn describe(&self) -> Result<Description> {
        if self.placement == Placement::Chain
            && self.on == On::Tokio
            && self.runtime.flavor == Flavor::MultiThread
        {
            return Err(BadUsage::new(
                "--placement chain: all async tasks of a runtime share its threads: use free, or --flavor current-thread",
            ));
        }
        self.on.check(self.runtime, self.stack)?;
        if self.on == On::Thread && self.driver == DriverKind::BlockOn {
            return Err(BadUsage::new(
                "--driver block-on: threads have no runtime: drop it, or use --on tokio",
            ));
        }
        let claim = self.on.claim();
        let links = match self.over {
            Over::Pipe => Transport::Pipe.needs(&self.pair(), claim)?,
            Over::Memory => Needs { bytes: Need::new(LINK_BYTES, LINK_BYTES), ..Needs::default() },
        };
        let tasks = match (self.on, self.over) {
            (On::Thread, _) => self.stack.needs(),
            (On::Tokio, Over::Pipe) => io_needs(1),
            (On::Tokio, Over::Memory) => Needs::default(),
        };
        let (others, is_tokio) = (self.chains - 1, self.on == On::Tokio);
        let runtimes =
            if is_tokio && self.runtime.flavor == Flavor::CurrentThread { others } else { 0 };
        // A further runtime has an epoll, the eventfd that wakes it, and two descriptors to spare. The threads of
        // further drivers are among the pairs' threads, unless the pairs are tasks.
        let descriptors = Need::new(4 * u64::from(runtimes), 0);
        let drivers = worker_needs(if is_tokio { others } else { 0 })
            + Needs { descriptors, ..Needs::default() };
        let pair = self.pair().describe("pairs", claim, links + tasks);
        let round_trips = u64::from(self.chains) * u64::from(self.trips);
        let pairs = Description {
            chains: self.chains.into(),
            trips: self.trips.into(),
            hops: pair.hops.map(|hops| hops.saturating_mul(round_trips)),
            bytes: pair.bytes.map(|bytes| bytes * round_trips),
            needs: pair.needs.chains(self.chains) + drivers,
            ..pair
        };
        if self.on == On::Thread { Ok(pairs) } else { self.runtime.describe(pairs) }
    }
}

impl Cli {
    /// One pair, as a brigade with one token.
    fn pair(&self) -> ChainFlags {
        ChainFlags { flags: self.flags.clone(), tokens: 1 }
    }

    /// Numbers of the round trips of an iteration, and room for what comes back.
    fn numbers<T: brigade::Number>(&self) -> Tokens<T> {
        Tokens::new(&ChainFlags { flags: self.flags.clone(), tokens: self.trips })
    }
}

/// Start and end of a driver's round trips.
type Times = (Instant, Instant);

/// Makes the round trips of an iteration, the first with the number of the iteration.
type DriveTrips = Box<dyn FnMut(u64) -> Result<Times> + Send>;

/// A pair: its driver, and a function that awaits its partners once the driver is gone, and returns how many numbers each
/// passed on.
struct Pair {
    driver: DriveTrips,
    partners: Box<dyn FnOnce() -> Vec<Result<u64>>>,
}

fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds the pairs, drives them, and takes them down.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let allowed = allowed_cpus()?;
    let is_placed = cli.placement == Placement::Chain;
    let cpus = allowed.iter().cycle().take(cli.chains as usize);
    let cpus: Vec<Option<usize>> = cpus.map(|&cpu| is_placed.then_some(cpu)).collect();
    let pairs: Vec<Pair> = match cli.on {
        On::Thread => cpus.iter().map(|&cpu| threads::pair(cli, cpu)).collect::<Result<_>>()?,
        On::Tokio => tasks::pairs(cli)?,
    };
    let (drivers, partners): (Vec<_>, Vec<_>) =
        pairs.into_iter().map(|pair| (pair.driver, pair.partners)).unzip();
    let drivers = drivers.into_iter().zip(cpus).collect();
    // The drivers' ends are gone when it returns, and the end runs along each pair.
    for (k, (driven, partners)) in drive(run, drivers)?.into_iter().zip(partners).enumerate() {
        conclude(driven, partners(), run.visits()).with_context(|| format!("pair {k}"))?;
    }
    Ok(())
}

/// Drives the pairs through all passes, the first one on this thread. Returns how each driver fared.
fn drive(run: &mut Run, drivers: Vec<(DriveTrips, Option<usize>)>) -> Result<Vec<Result<()>>> {
    let mut fared: Vec<Result<()>> = drivers.iter().map(|_| Ok(())).collect();
    let mut drivers = drivers.into_iter();
    let Some((mut first, cpu)) = drivers.next() else { return Ok(fared) };
    pin(cpu).context("cannot pin a driver")?;
    let barrier = &Barrier::new(fared.len());
    thread::scope(|scope| {
        // Each is told the iteration and tells its times. It ends when nobody can tell it any more.
        let mut others = Vec::new();
        for (driver, cpu) in drivers {
            let ((start, starts), (tell, told)) = (channel(), channel());
            let thread = thread::Builder::new()
                .spawn_scoped(scope, move || follow(driver, cpu, barrier, &starts, &tell));
            thread.with_context(|| {
                limits::refused(
                    "create a driver's thread",
                    "--chains",
                    run.description().chains as u32,
                )
            })?;
            others.push((start, told));
        }
        while let Some(mut pass) = run.next_pass()? {
            while let Some(iteration) = pass.next_iteration() {
                for (start, _) in &others {
                    start.send(iteration)?;
                }
                barrier.wait();
                let mut times = vec![first(iteration)];
                for (_, told) in &others {
                    times.push(told.recv()?);
                }

                if let Some(elapsed) = span(&times) {
                    pass.record(elapsed);
                } else {
                    fared = times.into_iter().map(|times| times.map(drop)).collect();
                    return Ok(());
                }
            }
            run.finish(pass)?;
        }
        Ok(())
    })
    .map(|()| fared)
}

/// A further driver's thread. A panic is told like an error.
fn follow(
    mut driver: DriveTrips,
    cpu: Option<usize>,
    barrier: &Barrier,
    starts: &Receiver<u64>,
    tell: &Sender<Result<Times>>,
) {
    let pinned = pin(cpu);
    for iteration in starts {
        barrier.wait();
        let times = pinned.context("cannot pin a driver").and_then(|()| {
            catch_unwind(AssertUnwindSafe(|| driver(iteration)))
                .unwrap_or_else(|panic| Err(console::panic_error(&*panic)))
        });
        if tell.send(times).is_err() {
            return;
        }
    }
}

/// Time from the first start to the last end; none if a driver has failed.
fn span(times: &[Result<Times>]) -> Option<Duration> {
    let times: Vec<&Times> =
        times.iter().map(|times| times.as_ref().ok()).collect::<Option<_>>()?;
    let begun = times.iter().map(|(begun, _)| begun).min()?;
    let ended = times.iter().map(|(_, ended)| ended).max()?;
    Some(*ended - *begun)
}
