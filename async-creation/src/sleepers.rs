//! Tasks that sleep: the comparison that circulates, with ten thousand of them or a million.
//!
//! One iteration: spawn N tasks, one after the other, from a task on the same runtime; each sleeps for
//! `--sleep` as soon as it runs; and await all of them, the oldest first. Timed: all of that, until the
//! last one is joined. With `--gate` each task waits until all have begun before it sleeps, and that is
//! timed too.
//!
//! Tokio's timers count whole milliseconds and round up: a task is late by half of one on average
//! even where nobody is in its way.
//!
//! The lists of the driver, a handle and a time of 8 bytes each for a task, are part of the resident
//! memory. That at rest, which is also what `--command` sees, is of one more iteration, which is not timed:
//! with the gate when all tasks wait at it, without when the last one has been spawned. On the
//! current-thread scheduler none has begun by then.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use harness::laps::Laps;
use harness::limits::{Demand, Passing, Room};
use harness::ready::{Arrival, Muster};
use harness::sleepers::{Life, Sleepers, late};
use harness::units::Span;
use harness::{Session, signals, usage};
use runtime::Plan;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time;

use crate::Cli;

/// What a task takes at most, with its place in the driver's lists; measured, and rounded up.
const BYTES: u64 = 512;

/// What `measure` does once the scheduler is settled, with tasks of this kind.
pub(crate) fn measure(
    cli: &Cli,
    sleep: Span,
    plan: Plan,
    session: &mut Session,
) -> anyhow::Result<()> {
    let alive = Demand::memory_tasks(BYTES) + plan.demand();
    let passing = Passing {
        // A task's memory is given back when its handle is.
        ended: alive.per_task,
        alive,
        tasks: u64::from(cli.run.tasks),
    };
    let room = match cli.sleep.gate {
        true => {
            session.require(&passing.alive)?;
            Room::for_all(cli.run.tasks)
        }
        false => session.require_passing(&passing)?,
    };
    let mut crowd = Crowd {
        count: cli.run.tasks,
        is_gated: cli.sleep.gate,
        sleepers: Sleepers::new(sleep, room, &cli.run),
        tasks: VecDeque::with_capacity(room.unjoined as usize),
        asleep: None,
    };
    let mut laps = session.laps();
    plan.timers().build(false)?.block_on(async {
        let driver = tokio::spawn(async move {
            let result = create(&mut crowd, &mut laps).await;
            Ok((crowd, laps, result))
        });
        let (mut crowd, laps, result) = runtime::join(driver).await?;
        session.timed(laps);
        crowd.sleepers.report(session, &passing);
        result?;
        rest(&mut crowd, session).await
    })
}

/// Lets N tasks sleep in each lap, and times that.
async fn create(crowd: &mut Crowd, laps: &mut Laps) -> anyhow::Result<()> {
    while let Some(_lap) = laps.advance()? {
        let gate = crowd.gate();
        crowd.begin(laps.is_timed());
        let clock = Instant::now();
        for _ in 0..crowd.count {
            crowd.spawn(gate.as_ref()).await?;
        }
        crowd.fall_asleep(gate).await?;
        while crowd.join_oldest().await? {}
        laps.record(clock.elapsed());

        crowd.sleepers.record();
    }
    Ok(())
}

/// Spawns N tasks once more, for the look at the memory and the user's command.
async fn rest(crowd: &mut Crowd, session: &mut Session) -> anyhow::Result<()> {
    if signals::received().is_some() {
        return Ok(());
    }
    usage::trim();
    let gate = crowd.gate();
    crowd.begin(false);
    let begun = Instant::now();
    for _ in 0..crowd.count {
        crowd.spawn(gate.as_ref()).await?;
    }
    if let Some((gate, mut muster)) = gate {
        all_here(&mut muster).await?;
        session.built(begun.elapsed());
        session.at_rest();
        gate.open(Word::Leave);
    } else {
        session.at_rest();
        crowd.asleep = Some(Instant::now());
    }
    while crowd.join_oldest().await? {}
    Ok(())
}

/// What a task does.
#[expect(
    clippy::manual_async_fn,
    reason = "a function that is async keeps what it is given twice, and so would each task"
)]
fn body(life: Life, sleep: Duration) -> impl Future<Output = u64> {
    async move {
        let mut timer = pin!(time::sleep(sleep));
        timer.as_mut().await;
        let late = late(timer.deadline().into_std());
        drop(life);
        late
    }
}

/// What a task does where there is a gate.
#[expect(clippy::manual_async_fn, reason = "as above")]
fn body_at_gate(life: Life, arrival: Arrival, gate: Arc<Gate>) -> impl Future<Output = u64> {
    async move {
        {
            // It will be woken from now on, also by an opening before it is polled.
            let opened = gate.opened.notified();
            arrival.arrive();
            opened.await;
        }
        let late = match gate.is_for_sleep.load(Ordering::Relaxed) {
            true => {
                let mut timer = pin!(time::sleep(gate.sleep));
                timer.as_mut().await;
                late(timer.deadline().into_std())
            }
            false => 0,
        };
        drop(life);
        late
    }
}

/// The tasks that are not joined. Those that are left in it end with their runtime.
struct Crowd {
    count: u32,
    is_gated: bool,
    sleepers: Sleepers,
    tasks: VecDeque<JoinHandle<u64>>,
    /// When the last of them was spawned, or let through the gate.
    asleep: Option<Instant>,
}

impl Crowd {
    fn begin(&mut self, is_timed: bool) {
        self.sleepers.begin(is_timed);
        self.asleep = None;
    }

    /// A gate that is shut, where one is asked for, and who is to come to it.
    fn gate(&self) -> Option<(Arc<Gate>, Muster)> {
        let gate = || Gate {
            opened: Notify::new(),
            is_for_sleep: AtomicBool::new(false),
            sleep: self.sleepers.sleep(),
        };
        self.is_gated
            .then(|| (Arc::new(gate()), Muster::of(self.count)))
    }

    /// Spawns a task.
    async fn spawn(&mut self, gate: Option<&(Arc<Gate>, Muster)>) -> anyhow::Result<()> {
        while !self.sleepers.has_room(self.tasks.len()) {
            self.join_oldest().await?;
        }
        let life = self.sleepers.spawning()?;
        self.tasks.push_back(match gate {
            None => tokio::spawn(body(life, self.sleepers.sleep())),
            Some((gate, muster)) => {
                tokio::spawn(body_at_gate(life, muster.arrival(), Arc::clone(gate)))
            }
        });
        Ok(())
    }

    /// All are there: lets them through the gate, if there is one.
    async fn fall_asleep(&mut self, gate: Option<(Arc<Gate>, Muster)>) -> anyhow::Result<()> {
        if let Some((gate, mut muster)) = gate {
            all_here(&mut muster).await?;
            gate.open(Word::Sleep);
        }
        self.asleep = Some(Instant::now());
        Ok(())
    }

    /// Awaits the oldest task; false if there is none.
    async fn join_oldest(&mut self) -> anyhow::Result<bool> {
        while self.sleepers.look_later(self.tasks.len(), self.asleep)? {
            time::sleep(Sleepers::LOOK).await;
        }
        let Some(task) = self.tasks.pop_front() else {
            return Ok(false);
        };
        self.sleepers.joined(task.await.context("a task died")?);
        Ok(true)
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

/// What tasks are told that pass the gate.
#[derive(Clone, Copy, PartialEq)]
enum Word {
    /// To end at once.
    Leave,
    /// To sleep.
    Sleep,
}

impl Gate {
    fn open(&self, word: Word) {
        self.is_for_sleep
            .store(word == Word::Sleep, Ordering::Relaxed);
        self.opened.notify_waiters();
    }
}

/// Awaits that every task stands at the gate.
async fn all_here(muster: &mut Muster) -> anyhow::Result<()> {
    while !muster.complete()? {
        time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}
