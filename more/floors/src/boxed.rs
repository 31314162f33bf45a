//! A future in a box, without a runtime, which shows how much of a task's creation is the allocation.
//!
//! One iteration: N futures are boxed, each of which returns its own number when it is polled. Timed: the N
//! allocations, and the move of each box to its place in a list, as the handle of a task has one. Left out: polling
//! each future once and dropping it.
//!
//! Not to be taken for a task: it has no header with state, references and a vtable, no place in a runtime's list of
//! tasks or in a queue, and nothing could wake it.

use std::future::{Future, pending};
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use anyhow::ensure;
use contract::{Pass, Run, Step};

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
                create(n, &mut pass, &mut tasks)?;
                run.finish(*pass)?;
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

        for (k, mut task) in (0..).zip(tasks.drain(..)) {
            let returned = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            ensure!(returned == Poll::Ready(k), "task {k} returned {returned:?}");
        }
    }
    Ok(())
}

/// N futures at once; each waits with its number.
fn hold(n: u32) -> anyhow::Result<Vec<Boxed<u32>>> {
    let mut tasks: Vec<Boxed<u32>> = Vec::with_capacity(n as usize);
    for k in 0..n {
        let mut task: Boxed<u32> = black_box(Box::pin(async move {
            pending::<()>().await;
            k
        }));
        let polled = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        ensure!(polled.is_pending(), "a task ended that should have waited");
        tasks.push(task);
    }
    Ok(tasks)
}
