//! Executors, as a brigade uses them.

use anyhow::bail;
use contract::{Pass, Run, console};
use runtime::{Driven, DriverKind};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::minimal;

/// Runs tasks.
pub trait Executor {
    /// A task that was spawned.
    type Task<T>;

    /// Runs `main`, which spawns tasks and awaits them.
    fn block_on<T>(&self, main: impl Future<Output = T>) -> T;

    /// Makes a task.
    fn spawn<F>(&self, task: F) -> Self::Task<F::Output>
    where
        F: Future<Output: Send> + Send + 'static;

    /// Awaits a task in `main`; one that panicked is an error.
    fn join<T: 'static>(
        &self,
        task: Self::Task<anyhow::Result<T>>,
    ) -> impl Future<Output = anyhow::Result<T>>;

    /// Spawns the driver for each pass of a run.
    ///
    /// # Errors
    /// The driver's own, its panic, and those of [`Run::next_pass`].
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
            let driver = self.spawn(async { Ok(driver.await) });
            let (pass, result);
            (ends, pass, result) = self.block_on(self.join(driver))?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
    }
}

/// Tokio, with the place of the driver.
#[derive(Debug)]
pub struct Tokio {
    /// Runtime of the tasks.
    pub runtime: Runtime,
    /// Place of the driver.
    pub driver: DriverKind,
}

impl Executor for Tokio {
    type Task<T> = JoinHandle<T>;

    fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        self.runtime.block_on(main)
    }

    fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.runtime.spawn(task)
    }

    fn join<T: 'static>(
        &self,
        task: JoinHandle<anyhow::Result<T>>,
    ) -> impl Future<Output = anyhow::Result<T>> {
        runtime::join(task)
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

impl Executor for minimal::Executor {
    type Task<T> = minimal::Handle<T>;

    fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        minimal::Executor::block_on(self, main)
    }

    fn spawn<F>(&self, task: F) -> minimal::Handle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        minimal::Executor::spawn(self, task)
    }

    async fn join<T: 'static>(
        &self,
        task: minimal::Handle<anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        match minimal::Executor::join(self, task).await {
            Some(Ok(result)) => result,
            Some(Err(panic)) => Err(console::panic_error(&*panic)),
            None => bail!("it waits for ever: no task is left that could wake it"),
        }
    }
}
