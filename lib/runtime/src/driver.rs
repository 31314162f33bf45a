//! The driver of a chain of tasks: a spawned task like the others, pass after pass.

use contract::{Pass, Run};
use tokio::runtime::Runtime;

use crate::counts::WorkerCounts;

/// What the driver gives back after a pass: its ends of the chain, the pass, and how it went.
pub type Driven<S> = (S, Pass, anyhow::Result<()>);

/// Spawns the driver for each pass of a run. Between passes this thread waits for a request outside the
/// runtime, where it holds no worker.
///
/// # Errors
/// The driver's own, its panic, and those of [`Run::next_pass`].
pub fn drive<S, F>(
    runtime: &Runtime,
    run: &mut Run,
    mut ends: S,
    drive: impl Fn(S, Pass) -> F,
) -> anyhow::Result<()>
where
    S: Send + 'static,
    F: Future<Output = Driven<S>> + Send + 'static,
{
    while let Some(pass) = run.next_pass()? {
        let counts = pass.is_for_runner().then(|| WorkerCounts::now(runtime.handle()));
        let driver = drive(ends, pass);
        let driver = runtime.spawn(async { anyhow::Ok(driver.await) });
        let (mut pass, result);
        (ends, pass, result) = runtime.block_on(crate::join(driver))?;
        if let Some(counts) = counts {
            counts.add_to(&mut pass.extra);
        }
        run.finish(pass)?;
        result?;
    }
    Ok(())
}
