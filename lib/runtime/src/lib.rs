//! The Tokio runtime of the async programs: its flags, its links, its driver. A crate of its own,
//! so that the thread programs do not link Tokio.

mod link;
mod runtimes;
mod timers;

use std::env;
use std::panic;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use chain::StartLatch;
use clap::ValueEnum;
use contract::message::{self, Description, Need, Needs};
use contract::{BadUsage, console};
use threads::{CpuAssignment, Placement, worker_needs};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};

pub use link::{AsyncReader, AsyncWriter, Ends, link};
pub use runtimes::{
    Driven, DriverKind, Runtimes, TaskDriver, chains_needs, drive_pass, run_driver,
};
pub use timers::{beside_timers, timer_needs};

/// Variable that Tokio reads for the number of workers.
const WORKERS: &str = "TOKIO_WORKER_THREADS";

/// Tokio's scheduler and its workers.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct RuntimeFlags {
    /// Tokio's scheduler
    #[arg(long, value_enum, default_value = "multi-thread")]
    pub flavor: Flavor,

    /// Worker threads of the multi-thread scheduler [default: TOKIO_WORKER_THREADS, or one per CPU]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub workers: Option<u32>,

    /// CPUs of the worker threads: free, the kernel decides; half, one CPU for the first half and another for the
    /// rest; spread, neighbours on different CPUs; chain, one CPU per current-thread scheduler; or a list such as 0,4, to
    /// use in turn
    #[arg(
        long,
        value_name = "free|half|spread|chain|LIST",
        default_value = "free",
        help_heading = "Advanced"
    )]
    pub placement: Placement,
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

/// Needs of tasks that wait on links, with their registrations in epoll and the kernel's share: more than was seen.
pub fn io_needs() -> Needs {
    Needs { bytes: Need::new(0, 4 << 10), ..Needs::default() }
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

    /// Number of threads that will run tasks, and their CPUs.
    fn count(&self) -> anyhow::Result<(u32, CpuAssignment)> {
        let is_one_thread = self.flavor == Flavor::CurrentThread;
        let is_of_workers = !matches!(self.placement, Placement::Free | Placement::Chain);
        for (flag, is_given) in
            [("--workers", self.workers.is_some()), ("--placement", is_of_workers)]
        {
            if is_one_thread && is_given {
                return Err(BadUsage::new(format!(
                    "{flag}: the current-thread scheduler has one thread and no workers: drop it, or use --flavor multi-thread",
                )));
            }
        }
        if self.placement == Placement::Chain && !is_one_thread {
            return Err(BadUsage::new(
                "--placement chain: the multi-thread scheduler's workers belong to no chain: use spread, or --flavor current-thread",
            ));
        }
        let cpus = CpuAssignment::new(self.placement)?;
        let workers = match (is_one_thread, self.workers) {
            (true, _) => 1,
            (false, Some(workers)) => workers,
            (false, None) => from_environment()?.unwrap_or(cpus.count() as u32),
        };
        Ok((workers, cpus))
    }

    /// Adds the runtime and its own needs to the description of tasks.
    pub fn describe(&self, tasks: Description) -> anyhow::Result<Description> {
        let (workers, _) = self.count()?;
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

    /// Builds the runtime, with I/O if `io` is set.
    pub fn build(&self, io: bool) -> anyhow::Result<Runtime> {
        self.build_with(|builder| {
            if io {
                builder.enable_io();
            }
        })
    }

    /// Builds the runtime with what `enable` adds to it.
    pub fn build_with(&self, enable: impl FnOnce(&mut Builder)) -> anyhow::Result<Runtime> {
        let (workers, cpus) = self.count()?;
        let mut builder = Builder::new_current_thread();
        if self.flavor == Flavor::CurrentThread {
            cpus.pin(0, 1).context("cannot pin the thread of the runtime")?;
        } else {
            let next = AtomicU32::new(0);
            builder = Builder::new_multi_thread();
            builder.worker_threads(workers as usize).on_thread_start(move || {
                let index = next.fetch_add(1, Ordering::Relaxed) % workers;
                // A CPU can be taken offline between the check and this.
                if let Err(e) = cpus.pin(index, workers) {
                    console::say(&format!("cannot pin a worker thread: {e}"));
                }
            });
        }
        enable(&mut builder);
        or_end(|| builder.build()).context("cannot build the runtime")
    }
}

/// Number of workers that Tokio's environment variable asks for.
fn from_environment() -> anyhow::Result<Option<u32>> {
    let Ok(text) = env::var(WORKERS) else { return Ok(None) };
    let workers = text.parse().ok().filter(|workers| (1..=32768).contains(workers));
    let bad = || {
        BadUsage::new(format!(
            "{WORKERS}: '{}' is not a number from 1 to 32768",
            text.escape_debug()
        ))
    };
    workers.ok_or_else(bad).map(Some)
}

/// Builds a runtime; a panic ends the process with status 1. Tokio panics when it cannot start a
/// worker, and while that panic unwinds it waits for the workers that did start, which nobody ends
/// (`BlockingPool`'s drop; seen with 1.54). The limits are checked before; a race remains.
fn or_end<T>(build: impl FnOnce() -> T) -> T {
    let before = panic::take_hook();
    panic::set_hook(Box::new(|info| {
        let error = console::panic_error(info.payload());
        console::say(&format!("cannot build the runtime: {error:#}"));
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
