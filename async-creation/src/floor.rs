//! A lower bound of creating a task: a future in a box, without a runtime.
//!
//! One iteration: N futures are boxed, each of which returns its own number when it is polled. Timed:
//! the N allocations, and the move of each box to its place in a list, as the handle of a task has
//! one. Left out: polling each future once and dropping it.
//!
//! Not to be taken for a task: it has no header with state, references and a vtable, no place in a
//! runtime's list of tasks or in a queue, and nothing could wake it.

use std::future::{Future, pending};
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use chain::StartLatch;
use contract::{Pass, Run, Step};
use creation::SpawnTimes;

/// A future as a runtime has it: of any kind, and ready to be sent to another thread.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(crate) fn measure(n: u32, run: &mut Run) -> anyhow::Result<()> {
    let mut tasks = Vec::with_capacity(n as usize);
    while let Some(step) = run.next_step()? {
        match step {
            Step::Hold => {
                let held = hold(n)?;
                run.held()?;
                drop(held);
            }
            Step::Pass(mut pass) => {
                let result = match pass.is(SpawnTimes::PASS) {
                    true => create_stamped(n, &mut pass),
                    false => create(n, &mut pass, &mut tasks),
                };
                run.finish(*pass)?;
                result?;
            }
        }
    }
    Ok(())
}

/// Boxes N futures in each iteration, and times that.
fn create(n: u32, pass: &mut Pass, tasks: &mut Vec<Boxed<u32>>) -> anyhow::Result<()> {
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for k in 0..n {
            // Else the compiler might see that nobody needs it to be on the heap.
            tasks.push(black_box(Box::pin(async move { k })));
        }
        pass.record(clock.elapsed());

        for (k, task) in (0..).zip(tasks.drain(..)) {
            let returned = poll_once(task);
            ensure!(returned == Poll::Ready(k), "task {k} returned {returned:?}");
        }
    }
    Ok(())
}

/// The same with a clock reading after each box, and one first thing in each future.
fn create_stamped(n: u32, pass: &mut Pass) -> anyhow::Result<()> {
    let mut tasks: Vec<Boxed<Duration>> = Vec::with_capacity(n as usize);
    let mut to_body = Vec::with_capacity(n as usize);
    let mut times = SpawnTimes::new(n);
    while pass.next_iteration().is_some() {
        times.begin(pass.is_timed());
        let clock = Instant::now();
        let mut called = clock;
        for _ in 0..n {
            tasks.push(black_box(Box::pin(async move { called.elapsed() })));
            called = times.returned(called);
        }
        pass.record(called - clock);

        for task in tasks.drain(..) {
            let Poll::Ready(delay) = poll_once(task) else {
                bail!("a task waits that has nothing to wait for");
            };
            to_body.push(delay);
        }
        times.end(to_body.drain(..));
    }
    times.add_to(&mut pass.extra);
    Ok(())
}

/// N futures at once, each of which has begun.
fn hold(n: u32) -> anyhow::Result<Vec<Boxed<()>>> {
    let mut latch = StartLatch::new(n);
    let mut tasks: Vec<Boxed<()>> = Vec::with_capacity(n as usize);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..n {
        let guard = latch.guard(None);
        let mut task: Boxed<()> = black_box(Box::pin(async move {
            if guard.started().is_ok() {
                pending::<()>().await;
            }
        }));
        let polled = task.as_mut().poll(&mut context);
        ensure!(polled.is_pending(), "a task ended that should have waited");
        tasks.push(task);
    }
    ensure!(latch.is_open()?, "a task was polled and has not begun");
    Ok(tasks)
}

/// Polls a future and drops it.
fn poll_once<T>(mut task: Boxed<T>) -> Poll<T> {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}
