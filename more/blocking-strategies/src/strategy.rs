//! Strategies: where an async program does its blocking work.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use brigade::worker_needs;
use clap::ValueEnum;
use contract::BadUsage;
use contract::message::{Description, Need, Needs};
use runtime::RuntimeFlags;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::{block_in_place, spawn_blocking};

use crate::pool::{Pool, Queue};

/// Strategy of a run.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct BlockingFlags {
    /// Where each operation is done
    #[arg(long, value_enum, default_value = "direct")]
    strategy: Strategy,

    /// Number of threads without the main one: workers and threads that may block
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "8", value_parser = clap::value_parser!(u32).range(2..=32768))]
    pool: u32,

    /// Number of threads of --pool that are workers of the runtime; the others may block [default: all with direct,
    /// otherwise half of them, but at most 4]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=32767))]
    workers: Option<u32>,

    /// How many operations may block at the same time, with --strategy permit [default: one per thread that is not a
    /// worker]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=32767))]
    permits: Option<u32>,
}

/// Place where operations are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// in the task, on the worker that polls it
    Direct,
    /// in the task, with block_in_place and a permit from a semaphore
    Permit,
    /// on a fixed pool of threads, which answers through a oneshot channel
    Dispatch,
    /// on Tokio's own pool, with spawn_blocking
    SpawnBlocking,
}

/// Most workers beside threads that may block.
const MOST_WORKERS: u32 = 4;

/// Tokio ends an idle thread that is not a worker after this time, which is longer than any run.
const KEEP_ALIVE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl BlockingFlags {
    /// Checks that the flags go together.
    fn check(&self) -> anyhow::Result<()> {
        let (all, workers) = (self.pool, self.workers());
        let is_direct = self.strategy == Strategy::Direct;
        if self.permits.is_some() && self.strategy != Strategy::Permit {
            return Err(BadUsage::new(
                "--permits: only --strategy permit has permits: drop it, or use that strategy",
            ));
        }
        if is_direct && workers != all {
            return Err(BadUsage::new(format!(
                "--workers {workers}: with --strategy direct all {all} threads are workers: use --pool {workers}"
            )));
        }
        if !is_direct && workers >= all {
            return Err(BadUsage::new(format!(
                "--workers {workers}: --pool {all} has no thread left that may block: use --pool {} or more",
                workers + 1
            )));
        }
        Ok(())
    }

    /// Threads that run tasks.
    fn workers(&self) -> u32 {
        let is_direct = self.strategy == Strategy::Direct;
        self.workers.unwrap_or(if is_direct { self.pool } else { MOST_WORKERS.min(self.pool / 2) })
    }

    /// Threads that may block.
    fn others(&self) -> u32 {
        self.pool - self.workers()
    }

    fn runtime(&self) -> RuntimeFlags {
        RuntimeFlags::multi_thread(Some(self.workers()))
    }

    /// Adds the runtime and all threads to the description of tasks.
    pub fn describe(&self, tasks: Description) -> anyhow::Result<Description> {
        self.check()?;
        let described = self.runtime().describe(tasks)?;
        // The I/O driver's epoll and eventfd, and some to spare.
        let driver = Needs { descriptors: Need::new(16, 0), ..Needs::default() };
        let needs = described.needs + worker_needs(self.others()) + driver;
        Ok(Description { needs, ..described })
    }

    /// Builds the runtime with I/O. Its threads start when they are needed, and end with the runtime.
    pub(crate) fn build(&self) -> anyhow::Result<Runtime> {
        let others = if self.strategy == Strategy::Dispatch { 0 } else { self.others() };
        self.runtime().build(|builder| {
            // Tokio takes no 0. If there are to be none, nothing asks for one.
            let builder = builder.max_blocking_threads(others.max(1) as usize);
            builder.thread_keep_alive(KEEP_ALIVE).enable_io()
        })
    }

    /// Makes the strategy ready, with the pool of [`Strategy::Dispatch`].
    pub(crate) fn start(&self) -> anyhow::Result<(Offload, Option<Pool>)> {
        Ok(match self.strategy {
            Strategy::Direct => (Offload::Direct, None),
            Strategy::Permit => {
                let permits = self.permits.unwrap_or(self.others());
                (Offload::Permit(Arc::new(Semaphore::new(permits as usize))), None)
            }
            Strategy::Dispatch => {
                let pool = Pool::start(self.others())?;
                (Offload::Dispatch(pool.queue.clone()), Some(pool))
            }
            Strategy::SpawnBlocking => (Offload::SpawnBlocking, None),
        })
    }

    /// Checks that there are no more threads than were asked for; none has ended yet. Without /proc nobody can
    /// count them.
    pub(crate) fn check_count(&self) -> anyhow::Result<()> {
        let Ok(threads) = fs::read_dir("/proc/self/task") else {
            return Ok(());
        };
        let others = threads.count().saturating_sub(1);
        ensure!(
            others <= self.pool as usize,
            "there are {others} threads without the main one, but --pool allows {}",
            self.pool
        );
        Ok(())
    }
}

/// A strategy that is ready for any number of tasks.
#[derive(Clone)]
pub enum Offload {
    /// [`Strategy::Direct`].
    Direct,
    /// [`Strategy::Permit`].
    Permit(Arc<Semaphore>),
    /// [`Strategy::Dispatch`].
    Dispatch(Queue),
    /// [`Strategy::SpawnBlocking`].
    SpawnBlocking,
}

impl Offload {
    /// Has an operation done, and returns what it returned.
    pub async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        match self {
            Offload::Direct => Ok(operation()),
            Offload::Permit(permits) => {
                let _permit = permits.acquire().await?;
                Ok(block_in_place(operation))
            }
            Offload::Dispatch(queue) => queue.dispatch(operation).await,
            Offload::SpawnBlocking => {
                runtime::join(spawn_blocking(|| anyhow::Ok(operation()))).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Runs operations by a strategy, and checks on which thread, and that a panic is an error.
    fn check(runtime: &Runtime, offload: Offload, is_here: bool) {
        let task = runtime.spawn(async move {
            let here = thread::current().id();
            let there = offload.run(|| thread::current().id()).await?;
            assert_eq!(here == there, is_here);
            let panics = || -> u32 { panic!("out of luck") };
            offload.run(panics).await
        });
        let error = runtime.block_on(runtime::join(task)).unwrap_err();
        assert!(error.to_string().contains("out of luck"), "{error}");
    }

    #[test]
    fn an_operation_is_done_where_its_strategy_says() {
        let pool = Pool::start(1).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        check(&runtime, Offload::Direct, true);
        check(&runtime, Offload::Permit(Arc::new(Semaphore::new(1))), true);
        check(&runtime, Offload::SpawnBlocking, false);
        check(&runtime, Offload::Dispatch(pool.queue.clone()), false);
        drop(runtime);
        pool.join().unwrap();
    }
}
