//! Async tasks that sleep: one per timer. The driver is the first of them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use contract::{Interrupted, Pass, Run};
use host::signals;
use runtime::join;
use tokio::time::{self, Interval};

use crate::{Cli, SleepKind, beginning, finish, lateness};

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let sleeps = Sleeps { kind: cli.on, length: cli.sleep.into(), firings: cli.firings as usize };
    let n = cli.flags.tasks;
    let runtime = cli.runtime.build(|builder| builder.enable_time())?;
    while let Some(mut pass) = run.next_pass()? {
        let driver = runtime.spawn(async move {
            let late = drive(n, sleeps, &mut pass).await;
            anyhow::Ok((pass, late))
        });
        let (pass, late) = runtime.block_on(join(driver))?;
        finish(run, pass, late?)?;
    }
    Ok(())
}

/// What each task does.
#[derive(Clone, Copy)]
struct Sleeps {
    kind: SleepKind,
    length: Duration,
    /// In each iteration.
    firings: usize,
}

/// Sleeps in each iteration, while the other tasks do so; returns how late each sleep ended.
async fn drive(n: u32, sleeps: Sleeps, pass: &mut Pass) -> Result<Vec<u64>> {
    let (each, begin) = (pass.left() as usize * sleeps.firings, beginning(n));
    let mut others = Vec::with_capacity(n as usize);
    for k in 1..n {
        others.push(tokio::spawn(async move {
            let mut timer = Timer::new(sleeps, begin + sleeps.length * k / n).await;
            let mut late = Vec::with_capacity(each);
            for _ in 0..each {
                late.push(timer.fire().await?);
            }
            anyhow::Ok(late)
        }));
    }
    let mut late = Vec::with_capacity(each);
    let mut timer = Timer::new(sleeps, begin).await;
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for _ in 0..sleeps.firings {
            late.push(timer.fire().await?);
        }
        pass.record(clock.elapsed());

        if pass.left() == 0 {
            for other in others.drain(..) {
                late.extend(other.await.context("a task died")??);
            }
        }
    }
    Ok(late)
}

enum Timer {
    Sleep(Duration),
    Interval(Interval),
}

impl Timer {
    /// Waits until then. The first sleep begins then.
    async fn new(sleeps: Sleeps, begin: Instant) -> Self {
        let length = sleeps.length;
        time::sleep_until(begin.into()).await;
        match sleeps.kind {
            SleepKind::TokioInterval => {
                Timer::Interval(time::interval_at(time::Instant::now() + length, length))
            }
            _ => Timer::Sleep(length),
        }
    }

    /// Sleeps once; returns how late that ended.
    async fn fire(&mut self) -> Result<u64> {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        let due = match self {
            Timer::Sleep(length) => {
                let due = Instant::now() + *length;
                time::sleep(*length).await;
                due
            }
            Timer::Interval(interval) => interval.tick().await.into_std(),
        };
        lateness(due)
    }
}
