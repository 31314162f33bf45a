//! Operations of an iteration that several threads or async tasks share.
//!
//! Before the first operation, all of them run: each counts itself, and yields until all are there. What it takes to
//! start or wake them is therefore not timed. If there are more of them than CPUs, they still take turns within the time;
//! the least number of operations each ([`crate::Cli::least`]) keeps that small.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire};
use std::time::Instant;

use anyhow::Context;
use contract::Run;
use runtime::join;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::task::yield_now;

use crate::Cli;
use crate::place::{Place, TaskDriver, Times};

/// Shares of N operations.
pub(crate) fn shares(n: u32, parts: u32) -> impl Iterator<Item = u32> {
    (0..parts).map(move |part| n / parts + u32::from(part < n % parts))
}

/// From the first start to the last end.
pub(crate) fn span(times: &[Times]) -> anyhow::Result<Times> {
    let begun = times.iter().map(|times| times.0).min();
    let ended = times.iter().map(|times| times.1).max();
    begun.zip(ended).context("nobody has worked")
}

/// Has `--contenders` tasks share the operations of each iteration: each does so many by `work`.
pub(crate) fn measure<F>(
    cli: &Cli,
    run: &mut Run,
    (place, runtime): (&Place, &Runtime),
    rest: impl Fn(&mut Run) -> anyhow::Result<()>,
    work: impl Fn(u32) -> F + Send + Sync + 'static,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let team = Team { n: cli.flags.tasks, size: cli.contenders, work };
    place.serve_task(run, runtime, rest, &Arc::new(Mutex::new(team)))
}

struct Team<W> {
    n: u32,
    size: u32,
    work: W,
}

impl<W, F> TaskDriver for Team<W>
where
    W: Fn(u32) -> F + Send + Sync + 'static,
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    async fn iterate(&mut self) -> anyhow::Result<Times> {
        let (size, running) = (self.size, Arc::new(AtomicU32::new(0)));
        let start = |share| {
            let (work, running) = ((self.work)(share), Arc::clone(&running));
            tokio::spawn(async move {
                running.fetch_add(1, AcqRel);
                while running.load(Acquire) < size {
                    yield_now().await;
                }
                let begun = Instant::now();
                work.await?;
                anyhow::Ok((begun, Instant::now()))
            })
        };
        let tasks: Vec<_> = shares(self.n, size).map(start).collect();
        let mut times = Vec::with_capacity(tasks.len());
        for task in tasks {
            times.push(join(task).await?);
        }
        span(&times)
    }
}
