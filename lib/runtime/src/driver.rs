//! The driver of a chain of tasks, pass after pass: a spawned task like the others, or the future of
//! `Runtime::block_on`.

use clap::ValueEnum;
use contract::{Pass, Run};
use tokio::runtime::Runtime;

use crate::{IdleIn, RuntimeFlags};

/// Runtime of a chain of tasks, and the places of its driver and its idle tasks.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct TokioFlags {
    #[command(flatten)]
    #[expect(missing_docs, reason = "flags with docs of their own")]
    pub runtime: RuntimeFlags,

    /// Place of the driver
    #[arg(long, value_enum, default_value = "spawned", help_heading = "Advanced")]
    pub driver: DriverKind,

    /// Place where idle tasks wait, with --idle; with timer Tokio has its timers even if --idle is 0
    #[arg(long, value_enum, default_value_t = IdleIn::Link, help_heading = "Advanced")]
    pub idle_in: IdleIn,
}

/// Place of the driver in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// a task like the others
    Spawned,
    /// the future of block_on: on the multi-thread scheduler its thread is no worker, and each wake-up of
    /// it is one by the kernel
    BlockOn,
}

/// The driver's ends of the chain, the pass, and how it went.
pub type Driven<S> = (S, Pass, anyhow::Result<()>);

/// Runs the driver in each pass of a run. Between passes this thread waits outside the runtime for a
/// request, and holds no worker.
pub fn drive<S, F>(
    runtime: &Runtime,
    kind: DriverKind,
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
        (ends, pass, result) = run_driver(runtime, kind, driver)?;
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
