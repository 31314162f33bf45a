//! The driver of a chain of tasks, pass after pass: a spawned task like the others, or the future of
//! `Runtime::block_on`.

use std::sync::Arc;

use chain::Times;
use clap::ValueEnum;
use contract::{Pass, Run};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

/// Place of the driver in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// a task like the others
    Spawned,
    /// the future of block_on: on the multi-thread scheduler its thread is no worker, and each wake-up of
    /// it is one by the kernel
    BlockOn,
}

/// The driver of a chain, whose work a task does.
pub trait TaskDriver: Send + 'static {
    /// Sends the tokens of an iteration in, takes them out, and times that.
    fn make_trips(&mut self, iteration: u64) -> impl Future<Output = anyhow::Result<Times>> + Send;

    /// Checks the tokens that came out.
    fn verify(&self, iteration: u64) -> anyhow::Result<()>;
}

/// A pass that is over, and how it went.
pub type Driven = (Pass, anyhow::Result<()>);

/// The task of a driver in one pass.
pub async fn drive_pass<D: TaskDriver>(driver: Arc<Mutex<D>>, mut pass: Pass) -> Driven {
    let driver = &mut *driver.lock().await;
    let result = async {
        while let Some(iteration) = pass.next_iteration() {
            let (begun, ended) = driver.make_trips(iteration).await?;
            pass.record(ended - begun);
            driver.verify(iteration)?;
        }
        Ok(())
    }
    .await;
    (pass, result)
}

/// Runs a driver's task for each pass of a run. Between passes this thread waits outside the runtime for a
/// request, and holds no worker.
pub fn drive<F: Future<Output = Driven> + Send + 'static>(
    runtime: &Runtime,
    kind: DriverKind,
    run: &mut Run,
    drive: impl Fn(Pass) -> F,
) -> anyhow::Result<()> {
    while let Some(pass) = run.next_pass()? {
        let (pass, result) = run_driver(runtime, kind, drive(pass))?;
        run.finish(pass)?;
        result?;
    }
    Ok(())
}

/// Runs a driver in its place until it ends; one that panicked is an error.
pub fn run_driver<T: Send + 'static>(
    runtime: &Runtime,
    kind: DriverKind,
    driver: impl Future<Output = T> + Send + 'static,
) -> anyhow::Result<T> {
    match kind {
        DriverKind::BlockOn => Ok(runtime.block_on(driver)),
        DriverKind::Spawned => {
            let driver = runtime.spawn(async { anyhow::Ok(driver.await) });
            runtime.block_on(crate::join(driver))
        }
    }
}
