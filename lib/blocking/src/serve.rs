//! The passes of a run by one strategy.

use std::sync::Arc;

use contract::{Pass, Run};
use runtime::{Driven, DriverKind, WorkerCounts};
use tokio::runtime::Runtime;

use crate::neighbours::{self, Progress};
use crate::strategy::{Offload, Threads};

/// Starts the threads, has `prepare` make the driver's state, and runs the driver in each pass, beside the
/// neighbours in their own pass. At the end it counts the threads.
///
/// The neighbours need this thread: a driver of [`DriverKind::BlockOn`] has no such pass.
pub fn serve<S: Send + 'static, F>(
    threads: &Threads,
    kind: DriverKind,
    run: &mut Run,
    prepare: impl AsyncFnOnce(Offload) -> anyhow::Result<S>,
    drive: impl Fn(S, Pass, Option<Arc<Progress>>) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = Driven<S>> + Send + 'static,
{
    let runtime = threads.build()?;
    let (offload, pool) = threads.start()?;
    let prepared = runtime.block_on(prepare(offload));
    let passed = prepared.and_then(|state| serve_passes(&runtime, kind, run, state, drive));
    let served = passed.and_then(|()| threads.check_count());
    // A task that is left has the pool's queue.
    drop(runtime);
    match pool {
        Some(pool) => served.and(pool.join()),
        None => served,
    }
}

fn serve_passes<S: Send + 'static, F>(
    runtime: &Runtime,
    kind: DriverKind,
    run: &mut Run,
    mut state: S,
    drive: impl Fn(S, Pass, Option<Arc<Progress>>) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = Driven<S>> + Send + 'static,
{
    while let Some(pass) = run.next_pass()? {
        let progress = pass.is(neighbours::PASS).then(Arc::<Progress>::default);
        let counts = pass.is_for_runner().then(|| WorkerCounts::now(runtime.handle()));
        let driver = drive(state, pass, progress.clone());
        let mut heard = None;
        let (mut pass, result);
        (state, pass, result) = match kind {
            DriverKind::BlockOn => runtime.block_on(driver),
            DriverKind::Spawned => {
                let driver = runtime.spawn(driver);
                heard = progress.map(|progress| {
                    neighbours::listen(runtime, &progress, || !driver.is_finished())
                });
                runtime.block_on(driver)?
            }
        };
        if let Some(heard) = heard {
            let heard = heard?;
            pass.add_extra("heartbeat", &heard.heartbeat);
            pass.add_extra("echo", &heard.echo);
            // Alone on the runtime, to compare with.
            let alone = Arc::new(Progress::default());
            let heard = neighbours::listen(runtime, &alone, || alone.wants_more())?;
            pass.add_extra("heartbeat_idle", &heard.heartbeat);
            pass.add_extra("echo_idle", &heard.echo);
        } else if let Some(counts) = counts {
            counts.add_to(&mut pass);
        }
        run.finish(pass)?;
        result?;
    }
    Ok(())
}
