//! Async tasks that sleep.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use brigade::{StartGuard, StartLatch};
use contract::{Pass, Run, Step};
use runtime::{hold, join};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time;

use crate::Cli;
use crate::alive::{Alive, Sleepers, lateness};
use crate::depth::use_stack;

/// Lets tasks sleep in each pass, and holds others that only wait when that is asked for.
pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let (n, sleep, is_gated) = (cli.flags.tasks, cli.sleep.into(), cli.gate);
    let runtime = cli.runtime.build(|builder| builder.enable_time())?;
    while let Some(step) = run.next_step()? {
        match step {
            Step::Pass(mut pass) => {
                let driver = runtime.spawn(async move {
                    let driven = drive(n, sleep, is_gated, &mut pass).await;
                    anyhow::Ok((pass, driven))
                });
                let (pass, driven) = runtime.block_on(join(driver))?;
                run.finish(*pass)?;
                driven?;
            }
            Step::Hold => hold(&runtime, n, use_stack, || run.held())?,
        }
    }
    Ok(())
}

/// Lets N tasks sleep in each iteration, and times that.
async fn drive(n: u32, sleep: Duration, is_gated: bool, pass: &mut Pass) -> Result<()> {
    let mut crowd = Crowd::new(n);
    while pass.next_iteration().is_some() {
        let gate = is_gated.then(|| Gate::new(sleep));
        let clock = Instant::now();
        if let Some(gate) = gate {
            crowd.wait_at(&gate).await?;
            gate.opened.notify_waiters();
        } else {
            crowd.spawn(sleep)?;
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
            guard.started();
            opened.await;
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
    fn spawn(&mut self, sleep: Duration) -> Result<()> {
        for _ in 0..self.count {
            self.tasks.push(tokio::spawn(body(self.sleepers.spawning()?, sleep)));
        }
        Ok(())
    }

    /// Spawns all tasks, and waits until each stands at the gate.
    async fn wait_at(&mut self, gate: &Arc<Gate>) -> Result<()> {
        let mut latch = StartLatch::new(self.count);
        for _ in 0..self.count {
            let (alive, guard) = (self.sleepers.spawning()?, latch.guard()?);
            self.tasks.push(tokio::spawn(body_at_gate(alive, guard, Arc::clone(gate))));
        }
        while !latch.is_open()? {
            time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Waits until the last task is about to wake, or one has ended.
    async fn sleep_on(&self, sleep: Duration) -> Result<()> {
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
