//! The Tokio runtime that the async benchmarks run on: its flags, how it is built, and what may stand
//! beside it: a pool of threads ([`pool`]), and tasks that notice what others do to it
//! ([`neighbours`]). It is a crate of its own so that the thread benchmarks do not link Tokio.

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use harness::limits::Demand;
use harness::machine::Build;
use harness::placement::Seats;
use harness::{BadUsage, console, panics, record};
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

pub mod blocking;
mod counts;
pub mod neighbours;
pub mod pool;
mod timer;
mod workers;

pub use counts::counts;

/// How many workers the multi-thread scheduler has. (`--flavor` is each program's own flag,
/// since their defaults differ.)
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct Workers {
    /// Worker threads of the multi-thread scheduler [default: one for each CPU]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub workers: Option<u32>,
}

/// Tokio's schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavor {
    /// tasks move between worker threads
    MultiThread,
    /// all tasks on the main thread
    CurrentThread,
}

/// A scheduler as it will be built.
#[derive(Clone, Debug)]
pub struct Plan {
    flavor: Flavor,
    workers: u32,
    /// How many threads there may be besides the workers, for what blocks; Tokio decides where this
    /// is not said.
    blocking: Option<u32>,
    timers: bool,
    seats: Seats,
}

/// How long a thread for what blocks may be idle before it ends, where their number is given: longer
/// than any run.
const KEPT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Plan {
    /// Settles how many workers there will be.
    ///
    /// # Errors
    /// Where `--workers` is given for a scheduler that has none.
    pub fn new(flavor: Flavor, workers: Workers, seats: Seats) -> anyhow::Result<Self> {
        if flavor == Flavor::CurrentThread && workers.workers.is_some() {
            return Err(BadUsage::new(
                "--workers: the current-thread scheduler has no workers: drop it, or use --flavor multi-thread",
            ));
        }
        if flavor == Flavor::CurrentThread && seats.apart() {
            return Err(BadUsage::new(
                "--placement: the current-thread scheduler has one thread, and nothing to keep apart: use free or one-cpu, or --flavor multi-thread",
            ));
        }
        let workers = match flavor {
            Flavor::CurrentThread => 1,
            Flavor::MultiThread => workers.workers.unwrap_or(seats.cpus() as u32),
        };
        Ok(Plan {
            flavor,
            workers,
            blocking: None,
            timers: false,
            seats,
        })
    }

    /// The same with so many threads at most besides the workers, for what blocks, which is what a
    /// program says by `--threads`. They are started when they are needed, and none ends before the
    /// runtime. (Tokio takes no less than one for the bound: with 0 it is for the program to block
    /// nowhere else than on a worker or a thread of its own.)
    #[must_use]
    pub fn blocking(self, threads: u32) -> Self {
        Plan {
            blocking: Some(threads),
            ..self
        }
    }

    /// The same with timers.
    #[must_use]
    pub fn timers(self) -> Self {
        Plan {
            timers: true,
            ..self
        }
    }

    /// How many threads the multi-thread scheduler may have in all.
    fn threads(&self) -> u32 {
        self.workers.saturating_add(self.blocking.unwrap_or(0))
    }

    /// What the runtime itself needs of the system.
    pub fn demand(&self) -> Demand {
        match self.flavor {
            Flavor::CurrentThread => Demand::workers(0),
            Flavor::MultiThread => {
                let flag = match self.blocking {
                    Some(_) => "--threads",
                    None => "--workers",
                };
                Demand::runtime_threads(flag, u64::from(self.threads()))
            }
        }
    }

    /// Builds the runtime, with I/O where `io` is set.
    ///
    /// # Errors
    /// What the system reports.
    pub fn build(&self, io: bool) -> anyhow::Result<Runtime> {
        if self.flavor == Flavor::MultiThread {
            workers::rehearse(self.threads())?;
        }
        let mut builder = match self.flavor {
            Flavor::CurrentThread => Builder::new_current_thread(),
            Flavor::MultiThread => Builder::new_multi_thread(),
        };
        if self.flavor == Flavor::MultiThread {
            let (seats, workers) = (self.seats.clone(), self.workers);
            let next = std::sync::atomic::AtomicU32::new(0);
            builder
                .worker_threads(workers as usize)
                .on_thread_start(move || {
                    let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    // CPUs can be taken offline between the check of --cpus and this.
                    if let Err(e) = seats.seat(index % workers, workers).take() {
                        console::say(format_args!("cannot pin a worker thread: {e}"));
                    }
                });
        }
        if let Some(threads) = self.blocking {
            builder.max_blocking_threads(threads.max(1) as usize);
            builder.thread_keep_alive(KEPT);
        }
        if io {
            builder.enable_io();
        }
        if self.timers {
            builder.enable_time();
        }
        workers::or_end(|| builder.build()).context("cannot build the runtime")
    }

    /// How the record names it.
    pub fn describe(&self) -> record::Runtime {
        record::Runtime {
            name: "tokio".to_owned(),
            version: Build::current().tokio,
            flavor: match self.flavor {
                Flavor::MultiThread => "multi-thread",
                Flavor::CurrentThread => "current-thread",
            }
            .to_owned(),
            workers: self.workers,
        }
    }
}

/// Awaits a task; one that panicked is an error.
///
/// # Errors
/// The task's own error, or its panic.
pub async fn join<T>(task: JoinHandle<anyhow::Result<T>>) -> anyhow::Result<T> {
    match task.await {
        Ok(result) => result,
        Err(died) => Err(match died.try_into_panic() {
            Ok(panic) => panics::error(&*panic),
            Err(cancelled) => cancelled.into(),
        }),
    }
}
