//! The passes of a run by one strategy.

use std::sync::Arc;

use contract::{Pass, Run};
use runtime::{Driven, WorkerCounts};
use tokio::runtime::Runtime;

use crate::neighbours::{NeighbourFlags, Progress};
use crate::strategy::{Offload, Threads};

/// Starts the threads, has `prepare` make what the driver works on, and spawns the driver for each pass,
/// beside the neighbours where the pass asks for them. At the end it counts the threads.
///
/// # Errors
/// Those of the driver and of `prepare`, what keeps a thread from starting, and more threads than were
/// asked for.
pub fn serve<S: Send + 'static, F>(
    threads: &Threads,
    run: &mut Run,
    neighbours: NeighbourFlags,
    prepare: impl AsyncFnOnce(Offload) -> anyhow::Result<S>,
    drive: impl Fn(S, Pass, Option<Arc<Progress>>) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = Driven<S>> + Send + 'static,
{
    let runtime = threads.build()?;
    let (offload, pool) = threads.start()?;
    let prepared = runtime.block_on(prepare(offload));
    let passed = prepared.and_then(|state| passes(&runtime, run, neighbours, state, drive));
    let served = passed.and_then(|()| threads.check_count());
    // A task that is left has the pool's queue.
    drop(runtime);
    match pool {
        Some(pool) => served.and(pool.join()),
        None => served,
    }
}

fn passes<S: Send + 'static, F>(
    runtime: &Runtime,
    run: &mut Run,
    neighbours: NeighbourFlags,
    mut state: S,
    drive: impl Fn(S, Pass, Option<Arc<Progress>>) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = Driven<S>> + Send + 'static,
{
    while let Some(pass) = run.next_pass()? {
        let progress = neighbours.progress(&pass);
        let counted = pass.is_for_runner() && progress.is_none();
        let counts = counted.then(|| WorkerCounts::now(runtime.handle()));
        let driver = runtime.spawn(drive(state, pass, progress.clone()));
        let (driven, mut extra) = neighbours.beside(runtime, progress, driver)?;
        let (mut pass, result);
        (state, pass, result) = driven;
        pass.extra.append(&mut extra);
        if let Some(counts) = counts {
            counts.add_to(&mut pass.extra);
        }
        run.finish(pass)?;
        result?;
    }
    Ok(())
}
