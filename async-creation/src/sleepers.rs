//! Tasks that sleep: the comparison that circulates, with ten thousand of them or a million.
//!
//! One iteration: a task on the same runtime spawns N tasks, each of which sleeps for `--sleep` as soon as it
//! runs, and awaits all of them, the oldest first. With `--gate` each task waits until all have begun before
//! it sleeps. Timed: all of that, until the last one is joined. The distribution `late` is by how much each
//! task woke late, `alive_count` the most tasks that were alive at once.
//!
//! Tokio's timers count whole milliseconds and round up: a task is late by half of one on average even if it
//! need not wait for a CPU. For `hold` all tasks wait at a gate, also without `--gate`. The driver's lists,
//! a handle and a time of 8 bytes each for a task, are part of the resident memory.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use chain::{StartGuard, StartLatch};
use contract::{Pass, Run, Step};
use creation::{Alive, Sleepers, lateness};
use runtime::RuntimeFlags;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time;

pub(crate) fn measure(
    n: u32,
    runtime: RuntimeFlags,
    (sleep, is_gated): (Duration, bool),
    run: &mut Run,
) -> anyhow::Result<()> {
    let runtime = runtime.build_with(|builder| {
        builder.enable_time();
    })?;
    while let Some(step) = run.next_step()? {
        let Step::Pass(mut pass) = step else {
            let mut crowd = Crowd::new(n);
            runtime.block_on(crowd.wait_at(&Gate::new(sleep)))?;
            run.held()?;
            runtime.block_on(release(crowd.tasks))?;
            continue;
        };
        let driver = runtime.spawn(async move {
            let result = drive(n, sleep, is_gated, &mut pass).await;
            (pass, result)
        });
        let (pass, result) = runtime.block_on(driver)?;
        run.finish(*pass)?;
        result?;
    }
    Ok(())
}

/// Lets N tasks sleep in each iteration, and times that.
async fn drive(n: u32, sleep: Duration, is_gated: bool, pass: &mut Pass) -> anyhow::Result<()> {
    let mut crowd = Crowd::new(n);
    while pass.next_iteration().is_some() {
        let gate = is_gated.then(|| Gate::new(sleep));
        let clock = Instant::now();
        if let Some(gate) = gate {
            crowd.wait_at(&gate).await?;
            gate.opened.notify_waiters();
        } else {
            crowd.spawn(|alive| tokio::spawn(body(alive, sleep)))?;
        }
        crowd.sleep_on(sleep).await?;
        for task in crowd.tasks.drain(..) {
            crowd.sleepers.joined(task.await.context("a task died")?);
        }
        pass.record(clock.elapsed());

        crowd.sleepers.end(pass);
    }
    crowd.sleepers.add_to(pass);
    Ok(())
}

/// A task that sleeps.
#[expect(
    clippy::manual_async_fn,
    reason = "an async function keeps its arguments twice, and so would each task"
)]
fn body(alive: Alive, sleep: Duration) -> impl Future<Output = u64> {
    async move {
        let mut timer = pin!(time::sleep(sleep));
        timer.as_mut().await;
        let late = lateness(timer.deadline().into_std());
        drop(alive);
        late
    }
}

/// A task that waits at the gate before it sleeps.
#[expect(clippy::manual_async_fn, reason = "as above")]
fn body_at_gate(alive: Alive, guard: StartGuard, gate: Arc<Gate>) -> impl Future<Output = u64> {
    async move {
        {
            // It will be woken from now on, also by an opening before it is polled.
            let opened = gate.opened.notified();
            if guard.started().is_ok() {
                opened.await;
            }
        }
        let mut timer = pin!(time::sleep(gate.sleep));
        timer.as_mut().await;
        let late = lateness(timer.deadline().into_std());
        drop(alive);
        late
    }
}

/// The sleepers of a pass. Those that are not joined end with their runtime.
struct Crowd {
    count: u32,
    sleepers: Sleepers,
    tasks: Vec<JoinHandle<u64>>,
}

impl Crowd {
    fn new(count: u32) -> Self {
        let tasks = Vec::with_capacity(count as usize);
        Crowd { count, sleepers: Sleepers::new(count), tasks }
    }

    /// Spawns all tasks.
    fn spawn(&mut self, task: impl Fn(Alive) -> JoinHandle<u64>) -> anyhow::Result<()> {
        for _ in 0..self.count {
            self.tasks.push(task(self.sleepers.spawning()?));
        }
        Ok(())
    }

    /// Spawns all tasks, and waits until each stands at the gate.
    async fn wait_at(&mut self, gate: &Arc<Gate>) -> anyhow::Result<()> {
        let mut latch = StartLatch::new(self.count);
        self.spawn(|alive| tokio::spawn(body_at_gate(alive, latch.guard(None), Arc::clone(gate))))?;
        while !latch.is_open()? {
            time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Waits until the last task is about to wake, or one has ended.
    async fn sleep_on(&self, sleep: Duration) -> anyhow::Result<()> {
        let since = Instant::now();
        let all = self.tasks.len() as u64;
        while Sleepers::wakes_late(since, sleep)? && Sleepers::alive() >= all {
            time::sleep(Sleepers::LOOK).await;
        }
        Ok(())
    }
}

/// A gate: a `Notify`, which keeps nothing for a task that waits but its waker and its place in a list,
/// both of them in the task, and wakes all by one call. A semaphore would count permits, and a watch
/// channel make a receiver for each.
struct Gate {
    opened: Notify,
    sleep: Duration,
}

impl Gate {
    fn new(sleep: Duration) -> Arc<Self> {
        Arc::new(Gate { opened: Notify::new(), sleep })
    }
}

/// Ends tasks that wait.
pub(crate) async fn release<T>(tasks: Vec<JoinHandle<T>>) -> anyhow::Result<()> {
    tasks.iter().for_each(JoinHandle::abort);
    for task in tasks {
        let is_cancelled = task.await.is_err_and(|e| e.is_cancelled());
        ensure!(is_cancelled, "a task ended that should have waited");
    }
    Ok(())
}
