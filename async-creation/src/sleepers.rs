//! Tasks that sleep: the comparison that circulates, with ten thousand of them or a million.
//!
//! One iteration: a task on the same runtime spawns N tasks, each of which sleeps for `--sleep` as soon
//! as it runs, and awaits all of them, the oldest first. With `--gate` each task waits until all have
//! begun before it sleeps. Timed: all of that, until the last one is joined. The distribution `late` is
//! by how much each task woke late, `alive_count` the most tasks that were alive at once.
//!
//! Tokio's timers count whole milliseconds and round up: a task is late by half of one on average even
//! where it need not wait for a CPU.
//!
//! For `hold` all tasks wait at a gate, also without `--gate`. The driver's lists, a handle and a time
//! of 8 bytes each for a task, are part of the resident memory.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use chain::{StartGuard, StartLatch};
use contract::{Pass, Run, Step};
use creation::{Alive, Sleepers, lateness};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time;

use crate::Cli;

pub(crate) fn measure(cli: &Cli, sleep: Duration, run: &mut Run) -> anyhow::Result<()> {
    let runtime = cli.runtime.build_with(|builder| {
        builder.enable_time();
    })?;
    let (count, is_gated) = (cli.flags.tasks, cli.sleep.gate);
    let crowd = move || Crowd {
        count,
        sleep,
        sleepers: Sleepers::new(count),
        tasks: VecDeque::with_capacity(count as usize),
    };
    while let Some(step) = run.next_step()? {
        match step {
            Step::Hold => {
                let mut crowd = crowd();
                let gate = Gate::new(sleep);
                runtime.block_on(crowd.come_to(&gate))?;
                run.held()?;
                gate.open(Order::Leave);
                runtime.block_on(crowd.join())?;
            }
            Step::Pass(pass) => {
                let driver = runtime.spawn(drive(crowd(), is_gated, *pass));
                let (pass, result) = runtime.block_on(driver)?;
                run.finish(pass)?;
                result?;
            }
        }
    }
    Ok(())
}

/// Lets N tasks sleep in each iteration, and times that.
async fn drive(mut crowd: Crowd, is_gated: bool, mut pass: Pass) -> (Pass, anyhow::Result<()>) {
    let result = async {
        while pass.next_iteration().is_some() {
            let gate = is_gated.then(|| Gate::new(crowd.sleep));
            let clock = Instant::now();
            match gate {
                None => crowd.spawn(|sleep, alive| tokio::spawn(body(alive, sleep)))?,
                Some(gate) => {
                    crowd.come_to(&gate).await?;
                    gate.open(Order::Sleep);
                }
            }
            crowd.sleep_on().await?;
            crowd.join().await?;
            pass.record(clock.elapsed());

            crowd.sleepers.end(pass.is_timed());
        }
        crowd.sleepers.add_to(&mut pass.extra);
        Ok(())
    };
    let result = result.await;
    (pass, result)
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
        let late = match gate.is_for_sleep.load(Ordering::Relaxed) {
            true => {
                let mut timer = pin!(time::sleep(gate.sleep));
                timer.as_mut().await;
                lateness(timer.deadline().into_std())
            }
            false => 0,
        };
        drop(alive);
        late
    }
}

/// The sleepers of a pass. Those that are not joined end with their runtime.
struct Crowd {
    count: u32,
    sleep: Duration,
    sleepers: Sleepers,
    tasks: VecDeque<JoinHandle<u64>>,
}

impl Crowd {
    /// Spawns all tasks.
    fn spawn(&mut self, task: impl Fn(Duration, Alive) -> JoinHandle<u64>) -> anyhow::Result<()> {
        for _ in 0..self.count {
            let alive = self.sleepers.spawning()?;
            self.tasks.push_back(task(self.sleep, alive));
        }
        Ok(())
    }

    /// Spawns all tasks, and waits until each stands at the gate.
    async fn come_to(&mut self, gate: &Arc<Gate>) -> anyhow::Result<()> {
        let mut latch = StartLatch::new(self.count);
        self.spawn(|_, alive| {
            tokio::spawn(body_at_gate(alive, latch.guard(None), Arc::clone(gate)))
        })?;
        while !latch.is_open()? {
            time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Waits until the last task is about to wake, or one has ended.
    async fn sleep_on(&self) -> anyhow::Result<()> {
        let since = Instant::now();
        while Sleepers::wakes_late(since, self.sleep)?
            && Sleepers::alive() >= self.tasks.len() as u64
        {
            time::sleep(Sleepers::LOOK).await;
        }
        Ok(())
    }

    /// Awaits all tasks, the oldest first.
    async fn join(&mut self) -> anyhow::Result<()> {
        while let Some(task) = self.tasks.pop_front() {
            self.sleepers.joined(task.await.context("a task died")?);
        }
        Ok(())
    }
}

/// A gate: a `Notify`, which keeps nothing for a task that waits but its waker and its place in a list,
/// both of them in the task, and wakes all by one call. A semaphore would count permits, and a watch
/// channel make a receiver for each.
struct Gate {
    opened: Notify,
    is_for_sleep: AtomicBool,
    sleep: Duration,
}

/// What tasks do that pass the gate.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// End at once.
    Leave,
    /// Sleep.
    Sleep,
}

impl Gate {
    fn new(sleep: Duration) -> Arc<Self> {
        Arc::new(Gate { opened: Notify::new(), is_for_sleep: AtomicBool::new(false), sleep })
    }

    fn open(&self, order: Order) {
        self.is_for_sleep.store(order == Order::Sleep, Ordering::Relaxed);
        self.opened.notify_waiters();
    }
}
