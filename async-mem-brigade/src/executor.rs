//! Executors, as a brigade uses them.

use contract::{Pass, Run};
use runtime::{Driven, DriverKind};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Runs tasks.
pub trait Executor {
    /// A task that was spawned.
    type Task<T>;

    /// Makes a task.
    fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = anyhow::Result<T>> + Send + 'static,
    ) -> Self::Task<T>;

    /// Runs tasks until this one has ended; one that panicked is an error.
    fn join<T: 'static>(&self, task: Self::Task<T>) -> anyhow::Result<T>;

    /// Spawns the driver for each pass of a run.
    fn drive<S, F>(
        &self,
        run: &mut Run,
        mut ends: S,
        drive: impl Fn(S, Pass) -> F,
    ) -> anyhow::Result<()>
    where
        S: Send + 'static,
        F: Future<Output = Driven<S>> + Send + 'static,
    {
        while let Some(pass) = run.next_pass()? {
            let driver = drive(ends, pass);
            let (pass, result);
            (ends, pass, result) = self.join(self.spawn(async { Ok(driver.await) }))?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
    }
}

/// Tokio, with the place of the driver.
pub struct Tokio {
    /// Runtime of the tasks.
    pub runtime: Runtime,
    /// Place of the driver.
    pub driver: DriverKind,
}

impl Executor for Tokio {
    type Task<T> = JoinHandle<anyhow::Result<T>>;

    fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = anyhow::Result<T>> + Send + 'static,
    ) -> Self::Task<T> {
        self.runtime.spawn(task)
    }

    fn join<T: 'static>(&self, task: Self::Task<T>) -> anyhow::Result<T> {
        self.runtime.block_on(runtime::join(task))
    }

    fn drive<S, F>(
        &self,
        run: &mut Run,
        ends: S,
        drive: impl Fn(S, Pass) -> F,
    ) -> anyhow::Result<()>
    where
        S: Send + 'static,
        F: Future<Output = Driven<S>> + Send + 'static,
    {
        runtime::drive(&self.runtime, self.driver, run, ends, drive)
    }
}
