//! Where an async program does what blocks.

use std::sync::Arc;

use anyhow::Context;
use clap::ValueEnum;
use harness::limits::Demand;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::{block_in_place, spawn_blocking};

use crate::pool::Queue;

/// Where operations run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// in the task, on the worker that polls it
    Direct,
    /// there too, by block_in_place, with a permit of a semaphore that has as many as there are
    /// threads besides the workers
    Permit,
    /// on a fixed pool of threads, whose answer comes by a oneshot
    Dispatch,
    /// on Tokio's own pool, by spawn_blocking
    SpawnBlocking,
}

/// The most workers beside threads that may block.
const WORKERS: u32 = 4;

/// What a number of threads is made up of, which is the same for each strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// The runtime's workers.
    pub workers: u32,
    /// Threads that the runtime may start besides them.
    pub of_runtime: u32,
    /// Those of a pool of the program's own.
    pub of_pool: u32,
}

impl Strategy {
    /// Divides so many threads: workers alone for `direct`, else up to four workers (no more than
    /// half) and others that may block.
    pub fn divide(self, threads: u32) -> Threads {
        let workers = match self {
            Strategy::Direct => threads,
            _ => WORKERS.min(threads / 2),
        };
        let others = threads - workers;
        let of_runtime = match self {
            Strategy::Direct | Strategy::Dispatch => 0,
            Strategy::Permit | Strategy::SpawnBlocking => others,
        };
        Threads {
            workers,
            of_runtime,
            of_pool: others - of_runtime,
        }
    }
}

impl Threads {
    /// What the threads of the pool need of the system. The runtime's are in its plan.
    pub fn demand_of_pool(self) -> Demand {
        Demand::runtime_threads("--threads", u64::from(self.of_pool))
    }
}

/// A strategy that is ready to be used, by any number of tasks.
#[derive(Clone)]
pub enum Offload {
    /// [`Strategy::Direct`]
    Direct,
    /// [`Strategy::Permit`], with its semaphore
    Permit(Arc<Semaphore>),
    /// [`Strategy::Dispatch`], with the pool's queue
    Dispatch(Queue),
    /// [`Strategy::SpawnBlocking`]
    SpawnBlocking,
}

impl Offload {
    /// For so many threads besides the workers.
    pub fn permit(others: u32) -> Self {
        Offload::Permit(Arc::new(Semaphore::new(others as usize)))
    }

    /// Has an operation done and awaits what it returns.
    ///
    /// # Errors
    /// Its panic, where it is not the task's own, or that the pool has ended.
    pub async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        match self {
            Offload::Direct => Ok(operation()),
            Offload::Permit(permits) => {
                let _permit = permits.acquire().await.context("there are no permits")?;
                Ok(block_in_place(operation))
            }
            Offload::Dispatch(queue) => queue.dispatch(operation).await,
            Offload::SpawnBlocking => crate::join(spawn_blocking(|| Ok(operation()))).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use harness::placement::{Layout, Place, Placement};
    use tokio::runtime::Builder;

    use super::*;
    use crate::pool::{Bound, Pool};

    #[test]
    fn every_strategy_has_the_same_number_of_threads() {
        for threads in [2, 3, 8, 44, 32768] {
            for strategy in Strategy::value_variants() {
                let parts = strategy.divide(threads);
                let all = parts.workers + parts.of_runtime + parts.of_pool;
                assert_eq!(all, threads, "{strategy:?}");
                let blocks = parts.of_runtime + parts.of_pool;
                assert_eq!(blocks == 0, *strategy == Strategy::Direct, "{strategy:?}");
            }
        }
        assert_eq!(Strategy::Permit.divide(8).workers, 4);
        assert_eq!(Strategy::Dispatch.divide(44).of_pool, 40);
    }

    #[test]
    fn an_operation_is_done_where_its_strategy_says_and_a_panic_is_an_error() {
        let place = Place {
            cpus: None,
            placement: Placement::Free,
            policy: None,
        };
        let seats = place.confine(Layout::Single).unwrap();
        let pool = Pool::start(1, Bound::Unbounded, &seats).unwrap();
        let elsewhere = [Offload::Dispatch(pool.queue()), Offload::SpawnBlocking];
        let here = [Offload::Direct, Offload::permit(1)];
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let cases = here.map(|o| (o, true)).into_iter();
        for (offload, is_here) in cases.chain(elsewhere.map(|o| (o, false))) {
            let task = runtime.spawn(async move {
                let here = thread::current().id();
                let there = offload.run(|| thread::current().id()).await?;
                assert_eq!(here == there, is_here);
                let panics = || -> u32 { panic!("out of luck") };
                offload.run(panics).await
            });
            let error = runtime.block_on(crate::join(task)).unwrap_err();
            assert!(error.to_string().contains("out of luck"), "{error}");
        }
        drop(runtime);
        pool.join().unwrap();
    }
}
