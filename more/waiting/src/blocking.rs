//! Work that returns at once, from tasks of a multi-thread runtime to its blocking pool, to its workers, or to another
//! runtime's workers. Nobody waits at rest.
//!
//! With a keep-alive of 1 ms, the threads of a cold pool end before the next iteration. A closure runs right before
//! each iteration: a pool that takes that closure's thread for idle starts one thread too few, and hangs (tokio#8056).

use std::fs;
use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::{Run, limits};
use runtime::join;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};
use tokio::time::timeout;

use crate::place::Place;
use crate::{Cli, Way, team};

/// Longest time until threads have ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest time without a further thread.
const PAUSE: Duration = Duration::from_secs(5);

pub(crate) fn warm(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (place, runtime, is_in_place) =
        (Place::new(cli)?, cli.runtime()?, cli.on == Way::BlockInPlace);
    team::measure(cli, run, (&place, &runtime), Run::held, move |share| async move {
        for _ in 0..share {
            if is_in_place {
                block_in_place(|| ());
            } else {
                spawn_blocking(|| ()).await?;
            }
        }
        Ok(())
    })
}

pub(crate) fn spawned(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (place, runtime) = (Place::new(cli)?, cli.runtime()?);
    let other = (cli.on == Way::Inject).then(|| cli.runtime()).transpose()?;
    let there = other.as_ref().unwrap_or(&runtime).handle().clone();
    team::measure(cli, run, (&place, &runtime), Run::held, move |share| {
        let there = there.clone();
        async move {
            for _ in 0..share {
                there.spawn(async {}).await?;
            }
            Ok(())
        }
    })
}

pub(crate) fn cold(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (n, place) = (cli.flags.tasks as usize, Place::new(cli)?);
    let runtime = with_threads(cli)?;
    let before = thread_count()?;
    let served = place.serve_thread(run, || {
        let times = runtime.block_on(all_running(
            before + n,
            runtime.spawn(async move {
                let (barrier, mut running) = (Arc::new(Barrier::new(n)), Vec::with_capacity(n));
                spawn_blocking(|| ()).await?;
                let begun = Instant::now();
                for _ in 0..n {
                    let barrier = Arc::clone(&barrier);
                    running.push(spawn_blocking(move || _ = barrier.wait()));
                }
                for thread in running {
                    thread.await?;
                }
                anyhow::Ok((begun, Instant::now()))
            }),
        ))?;
        let begun = Instant::now();
        while thread_count()? > before {
            ensure!(begun.elapsed() < PATIENCE, "the threads for blocking work did not end");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(times)
    });
    if served.is_err() {
        // Threads that could not all start wait for ever.
        runtime.shutdown_background();
    }
    served
}

/// Awaits a task for which so many threads are to run. Tokio does not say that it cannot start one.
async fn all_running<T>(threads: usize, task: JoinHandle<anyhow::Result<T>>) -> anyhow::Result<T> {
    let (mut task, mut before) = (pin!(join(task)), 0);
    loop {
        if let Ok(result) = timeout(PAUSE, &mut task).await {
            return result;
        }
        let now = thread_count()?;
        ensure!(
            now >= threads || now > before,
            limits::refused("start a thread for each task", "--tasks", threads as u32)
        );
        before = now;
    }
}

/// A runtime with so many threads for blocking work.
fn with_threads(cli: &Cli) -> anyhow::Result<Runtime> {
    cli.runtime_flags().build(|builder| {
        let keep = Duration::from_millis(1);
        builder.enable_all().max_blocking_threads(cli.flags.tasks as usize).thread_keep_alive(keep)
    })
}

fn thread_count() -> anyhow::Result<usize> {
    Ok(fs::read_dir("/proc/self/task").context("/proc/self/task")?.count())
}
