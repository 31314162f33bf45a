//! The least that creating a task can cost: a future in a box, with no runtime at all.
//!
//! One iteration: box N futures, one after the other, each of which returns its own number when it
//! is polled. Timed: the N allocations, and the moves of what is allocated to its place in a list, as
//! the handles of tasks have one. Left out: polling each future once and dropping it, which follows,
//! as awaiting a task and its end do in `main.rs`. What a runtime adds is missing: a header with
//! state, references and a vtable, a place in its list of all tasks and in a queue, and waking a
//! thread that would run it. Nothing here could ever be woken.

use std::future::{Future, pending};
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::ensure;
use harness::delays::Delays;
use harness::laps::Laps;
use harness::ready::Muster;
use harness::{Session, signals};

use crate::Cli;

/// A future as a runtime has it: of any kind, and ready to be sent to another thread.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What `measure` does after the check of the limits, with futures alone.
pub(crate) fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    let n = cli.run.tasks;
    let mut laps = session.laps();
    let result = create(n, &mut laps);
    session.timed(laps);
    result?;

    let mut delays = Delays::new(&cli.run);
    let result = create_stamped(n, &mut delays);
    delays.report(session);
    // Its memory is not the futures'.
    drop(delays);
    result?;

    hold(n, session)
}

/// Boxes N futures in each lap and times that.
fn create(n: u32, laps: &mut Laps) -> anyhow::Result<()> {
    let mut tasks: Vec<Boxed<u32>> = Vec::with_capacity(n as usize);
    while let Some(_lap) = laps.advance()? {
        let clock = Instant::now();
        for k in 0..n {
            // Else the compiler might see that nobody needs it to be on the heap.
            tasks.push(black_box(Box::pin(async move { k })));
        }
        laps.record(clock.elapsed());

        for (k, task) in (0..).zip(tasks.drain(..)) {
            let returned = poll_once(task);
            ensure!(returned == Poll::Ready(k), "task {k} returned {returned:?}");
        }
    }
    Ok(())
}

/// Boxes as many again, reading the clock between the calls and first thing in each future.
fn create_stamped(n: u32, delays: &mut Delays) -> anyhow::Result<()> {
    let mut tasks: Vec<Boxed<Duration>> = Vec::with_capacity(n as usize);
    while delays.advance() {
        let mut called = Instant::now();
        for _ in 0..n {
            tasks.push(black_box(Box::pin(async move { called.elapsed() })));
            called = delays.returned(called);
        }
        for task in tasks.drain(..) {
            let Poll::Ready(to_body) = poll_once(task) else {
                anyhow::bail!("a task waits that has nothing to wait for");
            };
            delays.began(to_body);
        }
    }
    Ok(())
}

/// Holds N futures at once, each of which has begun, for the look at the memory and the user's
/// command.
fn hold(n: u32, session: &mut Session) -> anyhow::Result<()> {
    if signals::received().is_some() {
        return Ok(());
    }
    let begun = Instant::now();
    let mut muster = Muster::of(n);
    let mut tasks: Vec<Boxed<()>> = Vec::with_capacity(n as usize);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..n {
        let arrival = muster.arrival();
        let mut task: Boxed<()> = black_box(Box::pin(async move {
            arrival.arrive();
            pending::<()>().await;
        }));
        let polled = task.as_mut().poll(&mut context);
        ensure!(polled.is_pending(), "a task ended that should have waited");
        tasks.push(task);
    }
    ensure!(muster.complete()?, "a task was polled and has not begun");
    session.built(begun.elapsed());
    session.at_rest();
    Ok(())
}

/// Polls a future and drops it.
fn poll_once<T>(mut task: Boxed<T>) -> Poll<T> {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}
