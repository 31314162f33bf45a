//! Async tasks that sleep.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use brigade::{StartGuard, StartLatch};
use contract::{Pass, Run, Step};
use runtime::{hold, join};
use tokio::sync::Notify;
use tokio::time;

use crate::alive::{Alive, Sleepers, lateness};
use crate::depth::use_stack;
use crate::{Cli, State};

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
            Step::Hold => match cli.state {
                State::None => hold::<0>(&runtime, n, use_stack, || run.held())?,
                State::OneKib => hold::<1024>(&runtime, n, use_stack, || run.held())?,
                State::EightKib => hold::<8192>(&runtime, n, use_stack, || run.held())?,
            },
        }
    }
    Ok(())
}

/// Lets N tasks sleep in each iteration, and times that. Those that are not joined end with their runtime.
async fn drive(n: u32, sleep: Duration, is_gated: bool, pass: &mut Pass) -> Result<()> {
    let (mut sleepers, mut tasks) = (Sleepers::new(n), Vec::with_capacity(n as usize));
    while pass.next_iteration().is_some() {
        let gate = is_gated.then(|| Arc::new(WakeGate { opened: Notify::new(), sleep }));
        let mut latch = StartLatch::new(n);
        let clock = Instant::now();
        for _ in 0..n {
            let alive = sleepers.spawning()?;
            tasks.push(match &gate {
                None => tokio::spawn(body(alive, sleep)),
                Some(gate) => tokio::spawn(body_at_gate(alive, latch.guard()?, Arc::clone(gate))),
            });
        }
        if let Some(gate) = gate {
            while !latch.is_open()? {
                time::sleep(Duration::from_millis(1)).await;
            }
            gate.opened.notify_waiters();
        }
        let since = Instant::now();
        while Sleepers::wakes_late(since, sleep)? && Sleepers::alive() >= u64::from(n) {
            time::sleep(Sleepers::LOOK).await;
        }
        for task in tasks.drain(..) {
            sleepers.joined(task.await.context("a task died")?);
        }
        pass.record(clock.elapsed());

        sleepers.end(pass);
    }
    sleepers.add_to(pass);
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
fn body_at_gate(alive: Alive, guard: StartGuard, gate: Arc<WakeGate>) -> impl Future<Output = u64> {
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

/// A gate: a `Notify`, which keeps nothing for a task that waits but its waker and its place in a list,
/// both of them in the task, and wakes all by one call. A semaphore would count permits, and a watch
/// channel make a receiver for each.
struct WakeGate {
    opened: Notify,
    sleep: Duration,
}
