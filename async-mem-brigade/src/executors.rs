//! Who runs the tasks: Tokio, smol, or an executor on a page.

use std::future::Future;

use anyhow::bail;
use harness::panics;
use harness::workers::Counts;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::{one_page, smol};

/// Runs tasks.
pub(crate) trait Executor {
    /// A task that was spawned.
    type Handle<T>;

    /// Runs `main`, which spawns tasks and awaits them.
    fn block_on<T>(&self, main: impl Future<Output = T>) -> T;

    /// Where it is read what its workers do, if it has several threads and tells.
    fn counts(&self) -> Option<Box<dyn Counts>> {
        None
    }

    /// Makes a task.
    fn spawn<F>(&self, task: F) -> Self::Handle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static;

    /// Awaits a task in `main`; one that panicked is an error.
    fn join<T: 'static>(
        &self,
        task: Self::Handle<anyhow::Result<T>>,
    ) -> impl Future<Output = anyhow::Result<T>>;
}

impl Executor for Runtime {
    type Handle<T> = JoinHandle<T>;

    fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        Runtime::block_on(self, main)
    }

    fn counts(&self) -> Option<Box<dyn Counts>> {
        runtime::counts(self.handle())
    }

    fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        Runtime::spawn(self, task)
    }

    fn join<T: 'static>(
        &self,
        task: JoinHandle<anyhow::Result<T>>,
    ) -> impl Future<Output = anyhow::Result<T>> {
        runtime::join(task)
    }
}

impl Executor for smol::Executor {
    type Handle<T> = smol::Handle<T>;

    fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        smol::Executor::block_on(self, main)
    }

    fn spawn<F>(&self, task: F) -> smol::Handle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        smol::Executor::spawn(self, task)
    }

    async fn join<T: 'static>(&self, task: smol::Handle<anyhow::Result<T>>) -> anyhow::Result<T> {
        let outcome = task.join().await;
        outcome.unwrap_or_else(|panic| Err(panics::error(&*panic)))
    }
}

impl Executor for one_page::Executor {
    type Handle<T> = one_page::Handle<T>;

    fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        one_page::Executor::block_on(self, main)
    }

    fn spawn<F>(&self, task: F) -> one_page::Handle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        one_page::Executor::spawn(self, task)
    }

    async fn join<T: 'static>(
        &self,
        task: one_page::Handle<anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        match one_page::Executor::join(self, task).await {
            Some(Ok(result)) => result,
            Some(Err(panic)) => Err(panics::error(&*panic)),
            None => bail!("it waits for ever: no task is left that could wake it"),
        }
    }
}
