//! Executors, as a brigade uses them.

use std::pin::Pin;
use std::sync::Arc;

use anyhow::Result;
use contract::Run;
use runtime::{Driven, DriverKind, Runtimes, TaskDriver, drive_pass};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// Runs tasks of one chain, or of several.
pub trait Executor {
    /// A task that was spawned.
    type Task<T>;

    /// Makes a task of a chain.
    fn spawn<T: Send + 'static>(
        &self,
        chain: u32,
        task: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Self::Task<T>;

    /// Runs tasks until this one of a chain has ended; one that panicked is an error.
    fn join<T: 'static>(&self, chain: u32, task: Self::Task<T>) -> Result<T>;

    /// Drives chains through all passes of a run, and returns what came of each driver. This one takes them one
    /// after the other, and is for one chain.
    fn drive<D: TaskDriver>(&self, run: &mut Run, drivers: Vec<D>) -> Result<Vec<Result<()>>> {
        let drive = |driver| {
            let driver = Arc::new(Mutex::new(driver));
            while let Some(pass) = run.next_pass()? {
                let driving = drive_pass(Arc::clone(&driver), pass);
                // Spawning it is compiled once, and not for each link.
                let task: Pin<Box<dyn Future<Output = Result<Driven>> + Send>> =
                    Box::pin(async { Ok(driving.await) });
                let (pass, result) = self.join(0, self.spawn(0, task))?;
                run.finish(pass)?;
                result?;
            }
            Ok(())
        };
        Ok(drivers.into_iter().map(drive).collect())
    }
}

/// Tokio, with the place of the driver.
#[derive(Clone, Copy)]
pub struct Tokio<'a> {
    /// Runtimes of the chains.
    pub runtimes: &'a Runtimes,
    /// Place of the driver.
    pub driver: DriverKind,
}

impl Executor for Tokio<'_> {
    type Task<T> = JoinHandle<Result<T>>;

    fn spawn<T: Send + 'static>(
        &self,
        chain: u32,
        task: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Self::Task<T> {
        self.runtimes.of_chain(chain).spawn(task)
    }

    fn join<T: 'static>(&self, chain: u32, task: Self::Task<T>) -> Result<T> {
        self.runtimes.of_chain(chain).block_on(runtime::join(task))
    }

    fn drive<D: TaskDriver>(&self, run: &mut Run, drivers: Vec<D>) -> Result<Vec<Result<()>>> {
        self.runtimes.drive(self.driver, run, drivers)
    }
}
