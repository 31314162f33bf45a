//! Executors, as a brigade uses them.

use std::pin::Pin;

use contract::{Pass, Run};
use runtime::{Driven, DriverKind};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// The driver of a chain in one pass.
pub type Driver = Pin<Box<dyn Future<Output = Driven<()>> + Send>>;

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

    /// Spawns a driver for each pass of a run.
    fn drive(&self, run: &mut Run, driver: &dyn Fn(Pass) -> Driver) -> anyhow::Result<()> {
        while let Some(pass) = run.next_pass()? {
            let driver = driver(pass);
            let ((), pass, result) = self.join(self.spawn(async { Ok(driver.await) }))?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
    }
}

/// Tokio, with the place of the driver.
#[derive(Clone, Copy)]
pub struct Tokio<'a> {
    /// Runtime of the tasks.
    pub runtime: &'a Runtime,
    /// Place of the driver.
    pub driver: DriverKind,
}

impl Executor for Tokio<'_> {
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

    fn drive(&self, run: &mut Run, driver: &dyn Fn(Pass) -> Driver) -> anyhow::Result<()> {
        runtime::drive(self.runtime, self.driver, run, (), |(), pass| driver(pass))
    }
}
