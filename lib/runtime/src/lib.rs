//! The Tokio runtime of the async programs: its flags and its links. A crate of its own, so that the thread programs do
//! not link Tokio.

mod link;

use std::env;
use std::future::pending;
use std::hint::black_box;
use std::panic;
use std::process;
use std::thread::available_parallelism;

use anyhow::{Context, ensure};
use brigade::{StackFlags, StartLatch, worker_needs};
use clap::ValueEnum;
use contract::message::{self, Claim, Description, Need, Needs};
use contract::{BadUsage, limits};
use host::console;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};

pub use link::{AsyncReader, AsyncWriter, link};

/// Variable that Tokio reads for the number of workers.
pub const WORKERS: &str = "TOKIO_WORKER_THREADS";

/// Tokio's scheduler and its workers.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct RuntimeFlags {
    /// Tokio's scheduler
    #[arg(long, value_enum, default_value = "multi-thread")]
    pub flavor: Flavor,

    /// Worker threads of the multi-thread scheduler [default: TOKIO_WORKER_THREADS, or one per CPU; under a quota, one per whole CPU of it]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub workers: Option<u32>,
}

/// What the tasks of a program are, if that is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// OS threads
    Thread,
    /// Tokio tasks
    Tokio,
}

impl On {
    /// Nature of a hop.
    pub fn claim(self) -> Claim {
        match self {
            On::Thread => Claim::KernelSwitch,
            On::Tokio => Claim::UserSwitch,
        }
    }

    /// Refuses flags of the other kind, which would have no effect.
    pub fn check(self, runtime: RuntimeFlags, stack: StackFlags) -> anyhow::Result<()> {
        match self {
            On::Thread => runtime.refuse("tokio"),
            On::Tokio if !stack.is_default() => Err(BadUsage::new(
                "--stack-size: async tasks have no stack: drop it, or use --on thread",
            )),
            _ => Ok(()),
        }
    }
}

/// Tokio's schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Flavor {
    /// tasks move between worker threads
    #[default]
    MultiThread,
    /// one thread runs all tasks
    CurrentThread,
}

/// Place of the driver in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// in a task like the others
    Spawned,
    /// in block_on, as in `#[tokio::main]`: with the multi-thread scheduler that thread is no worker, so the kernel has to
    /// wake it each time
    BlockOn,
}

/// Needs of tasks that wait on links and read so many bytes at once, with their registrations in epoll and the kernel's
/// share: more than was seen.
pub fn io_needs(read_buffer: usize) -> Needs {
    Needs { bytes: Need::new(0, (4 << 10) + read_buffer as u64), ..Needs::default() }
}

/// Waits until all tasks have started.
pub async fn wait_for(latch: &mut StartLatch) -> anyhow::Result<()> {
    while !latch.is_open()? {
        yield_now().await;
    }
    Ok(())
}

impl RuntimeFlags {
    /// The multi-thread scheduler with this number of workers and Tokio's other defaults.
    pub fn multi_thread(workers: Option<u32>) -> Self {
        RuntimeFlags { workers, ..RuntimeFlags::default() }
    }

    /// Refuses these flags where threads have no runtime; this value of --on has one.
    pub fn refuse(self, on: &str) -> anyhow::Result<()> {
        if self.flavor == Flavor::MultiThread && self.workers.is_none() {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--flavor and --workers: threads have no runtime: drop them, or use --on {on}"
        )))
    }

    /// Number of threads that will run tasks.
    fn count(&self) -> anyhow::Result<u32> {
        match (self.flavor, self.workers) {
            (Flavor::CurrentThread, None) => Ok(1),
            (Flavor::CurrentThread, Some(_)) => Err(BadUsage::new(
                "--workers: the current-thread scheduler has one thread and no workers: drop it, or use --flavor multi-thread",
            )),
            (Flavor::MultiThread, Some(workers)) => Ok(workers),
            (Flavor::MultiThread, None) => match from_environment()? {
                Some(workers) => Ok(workers),
                // Tokio's own default: the CPUs that this process may use, or as many whole ones as a quota gives it.
                None => Ok(available_parallelism().context("cannot count the CPUs")?.get() as u32),
            },
        }
    }

    /// Adds the runtime and its own needs to the description of tasks.
    pub fn describe(&self, tasks: Description) -> anyhow::Result<Description> {
        let workers = self.count()?;
        let (flavor, threads) = match self.flavor {
            Flavor::CurrentThread => ("current-thread", 0),
            Flavor::MultiThread => ("multi-thread", workers),
        };
        let runtime = message::Runtime {
            name: "tokio".to_owned(),
            version: option_env!("TOKIO_VERSION").map(str::to_owned),
            flavor: flavor.to_owned(),
            workers,
        };
        let needs = tasks.needs + worker_needs(threads);
        Ok(Description { needs, runtime: Some(runtime), ..tasks })
    }

    /// Builds the runtime, with what `enable` adds to it.
    pub fn build(
        &self,
        enable: impl FnOnce(&mut Builder) -> &mut Builder,
    ) -> anyhow::Result<Runtime> {
        let workers = self.count()?;
        let mut builder = match self.flavor {
            Flavor::CurrentThread => Builder::new_current_thread(),
            Flavor::MultiThread => Builder::new_multi_thread(),
        };
        if let (Flavor::MultiThread, Some(workers)) = (self.flavor, self.workers) {
            builder.worker_threads(workers as usize);
        }
        enable(&mut builder);
        or_end(workers, || builder.build()).context("cannot build the runtime")
    }
}

/// Number of workers that Tokio's environment variable asks for.
fn from_environment() -> anyhow::Result<Option<u32>> {
    let Ok(text) = env::var(WORKERS) else { return Ok(None) };
    let workers = text.parse().ok().filter(|workers| (1..=32768).contains(workers));
    if workers.is_none() {
        let text = text.escape_debug();
        return Err(BadUsage::new(format!("{WORKERS}: '{text}' is not a number from 1 to 32768")));
    }
    Ok(workers)
}

/// Builds a runtime; a panic ends the process with status 1. Tokio panics when it cannot start a worker. During the
/// unwinding it waits for the workers that did start, and nothing ends those (`BlockingPool`'s drop; seen with 1.54).
/// The limits are checked before; a race remains.
fn or_end<T>(workers: u32, build: impl FnOnce() -> T) -> T {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let action = format!("build the runtime ({})", console::panic_error(info.payload()));
        console::say(&limits::refused(&action, "the number of workers", workers));
        process::exit(1);
    }));
    let built = build();
    panic::set_hook(before);
    built
}

/// Awaits a task; one that panicked is an error.
pub async fn join<T, E: Into<anyhow::Error>>(task: JoinHandle<Result<T, E>>) -> anyhow::Result<T> {
    match task.await {
        Ok(result) => result.map_err(E::into),
        Err(died) => Err(match died.try_into_panic() {
            Ok(panic) => console::panic_error(&*panic),
            Err(cancelled) => cancelled.into(),
        }),
    }
}

/// Keeps so many tasks alive and waiting while `rest` runs. Each calls `prepare` before it waits, and its future keeps so
/// many bytes meanwhile.
pub fn hold<const STATE: usize>(
    runtime: &Runtime,
    tasks: u32,
    prepare: impl FnOnce() + Copy + Send + 'static,
    rest: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut latch = StartLatch::new(tasks);
    let mut held = Vec::with_capacity(tasks as usize);
    runtime.block_on(async {
        for _ in 0..tasks {
            let guard = latch.guard()?;
            held.push(tokio::spawn(async move {
                prepare();
                // Not zeros, and used after the wait.
                let state = black_box([u8::MAX; STATE]);
                guard.started();
                pending::<()>().await;
                black_box(&state);
            }));
        }
        wait_for(&mut latch).await
    })?;
    rest()?;
    held.iter().for_each(JoinHandle::abort);
    for task in held {
        let is_cancelled = runtime.block_on(task).is_err_and(|error| error.is_cancelled());
        ensure!(is_cancelled, "a task ended that should have waited");
    }
    Ok(())
}
