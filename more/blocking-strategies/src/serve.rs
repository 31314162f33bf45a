//! The passes of a run by one strategy.

use std::sync::Arc;

use contract::{Pass, Run};
use runtime::DriverKind;

use crate::neighbours::{self, Progress};
use crate::strategy::{BlockingFlags, Offload};

/// The driver's state, the pass, and how it went.
pub type Driven<S> = (S, Pass, anyhow::Result<()>);

/// Starts the threads, has `prepare` make the driver's state, and runs the driver in each pass, beside the heartbeat in
/// a pass of its own, which a driver of [`DriverKind::BlockOn`] does not have. At the end it counts the threads.
pub fn serve<S: Send + 'static, F>(
    flags: &BlockingFlags,
    kind: DriverKind,
    run: &mut Run,
    prepare: impl AsyncFnOnce(Offload) -> anyhow::Result<S>,
    drive: impl Fn(S, Pass, Option<Arc<Progress>>) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = Driven<S>> + Send + 'static,
{
    let runtime = flags.build()?;
    let (offload, pool) = flags.start()?;
    let served = runtime.block_on(prepare(offload)).and_then(|mut state| {
        while let Some(pass) = run.next_pass()? {
            let (done, result);
            (state, done, result) = if pass.is(neighbours::PASS) {
                let progress = Arc::<Progress>::default();
                let driver = runtime.spawn(drive(state, pass, Some(Arc::clone(&progress))));
                let heartbeat = runtime.spawn(neighbours::beat(Arc::clone(&progress)));
                let driven = runtime.block_on(driver);
                progress.end();
                let late = runtime.block_on(runtime::join(heartbeat))?;
                let (state, mut pass, result) = driven?;
                pass.add_extra("heartbeat", &late);
                (state, pass, result)
            } else {
                let driver = drive(state, pass, None);
                match kind {
                    DriverKind::Spawned => runtime.block_on(runtime.spawn(driver))?,
                    DriverKind::BlockOn => runtime.block_on(driver),
                }
            };
            run.finish(done)?;
            result?;
        }
        flags.check_count()
    });
    // A task that is left has the pool's queue.
    drop(runtime);
    match pool {
        Some(pool) => served.and(pool.join()),
        None => served,
    }
}
