//! A minimal executor, which shows how much of a hop is the runtime's.
//!
//! One iteration: a number travels through N tasks chained by slots, each of which adds one: N + 1 hops. Timed: the puts,
//! the takes, and the executor's work between them. Left out: creating the tasks, and the check of the number.
//!
//! All tasks run on one thread, first in, first out. A waker is the number of its task, and a wake-up puts the number
//! into a queue of the thread's own: it needs neither a lock nor an atomic operation. A runtime also has I/O, timers,
//! other threads and wake-ups from them, fairness, the release of a task's memory before all end, and the care that a
//! task that was woken twice is polled once.

#![expect(unsafe_code, reason = "a waker that is a number is made by hand")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::{self, ManuallyDrop};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::{ptr, time::Instant};

use anyhow::{Result, bail, ensure};
use contract::{Pass, Run};

thread_local! {
    /// Numbers of the tasks that are ready to run. Not dropped: else each use would check that it is there.
    static READY: RefCell<ManuallyDrop<VecDeque<usize>>> =
        const { RefCell::new(ManuallyDrop::new(VecDeque::new())) };
}

static WAKER: RawWakerVTable = RawWakerVTable::new(
    |task| RawWaker::new(task, &WAKER),
    |task| wake(task.addr()),
    |task| wake(task.addr()),
    |_| {},
);

fn wake(task: usize) {
    READY.with_borrow_mut(|ready| ready.push_back(task));
}

/// A task: a future on the heap, of any kind, as a runtime has it.
type PinnedTask = Pin<Box<dyn Future<Output = ()>>>;

/// Polls tasks and `main` in the order in which they are woken, until `main` is over.
fn block_on<T>(tasks: &mut [PinnedTask], main: impl Future<Output = T>) -> Result<T> {
    let mut main = pin!(main);
    wake(tasks.len());
    while let Some(number) = READY.with_borrow_mut(|ready| ready.pop_front()) {
        // SAFETY: nothing is behind the pointer, which is a number, and WAKER's functions do not follow it. They may
        // run on any thread, which has a queue of its own.
        let waker = unsafe { Waker::new(ptr::without_provenance(number), &WAKER) };
        let context = &mut Context::from_waker(&waker);
        if let Some(task) = tasks.get_mut(number) {
            ensure!(task.as_mut().poll(context).is_pending(), "task {number} has ended");
        } else if let Poll::Ready(output) = main.as_mut().poll(context) {
            return Ok(output);
        }
    }
    bail!("it waits for ever: no task is left that could wake it")
}

/// A slot for one number, and the waker of the end that waits: the least that a link needs. One waker is enough, since at
/// most one of the two ends waits: the receiver while there is no number, the sender while there is one.
#[derive(Default)]
struct Slot {
    number: Cell<Option<usize>>,
    is_awaited: Cell<bool>,
    /// Waker of the end that waited last. It is kept when it has been used: usually the same task waits again.
    waker: Cell<Option<Waker>>,
}

impl Slot {
    fn wait<R>(&self, context: &Context) -> Poll<R> {
        let waker = match self.waker.take() {
            Some(waker) if waker.will_wake(context.waker()) => waker,
            _ => context.waker().clone(),
        };
        self.waker.set(Some(waker));
        self.is_awaited.set(true);
        Poll::Pending
    }

    fn wake(&self) {
        if self.is_awaited.replace(false) {
            let waker = self.waker.take();
            waker.iter().for_each(Waker::wake_by_ref);
            self.waker.set(waker);
        }
    }

    async fn take(&self) -> usize {
        poll_fn(|context| match self.number.take() {
            None => self.wait(context),
            Some(number) => {
                self.wake();
                Poll::Ready(number)
            }
        })
        .await
    }

    async fn put(&self, number: usize) {
        poll_fn(|context| match self.number.take() {
            None => {
                self.number.set(Some(number));
                self.wake();
                Poll::Ready(())
            }
            earlier => {
                self.number.set(earlier);
                self.wait(context)
            }
        })
        .await;
    }
}

/// A task of the chain: takes a number, adds one, and hands it on.
async fn pass_on(from: Rc<Slot>, to: Rc<Slot>) {
    loop {
        let number = from.take().await;
        to.put(number + 1).await;
    }
}

/// Builds the chain, and drives it.
pub(crate) fn measure(n: u32, run: &mut Run) -> Result<()> {
    let first = Rc::<Slot>::default();
    let (mut last, mut tasks) = (Rc::clone(&first), Vec::<PinnedTask>::new());
    for k in 0..n as usize {
        let to = Rc::<Slot>::default();
        tasks.push(Box::pin(pass_on(mem::replace(&mut last, Rc::clone(&to)), to)));
        wake(k);
    }
    // It is polled behind all tasks, which then wait for their first number.
    block_on(&mut tasks, async {})?;
    while let Some(pass) = run.next_pass()? {
        let pass = block_on(&mut tasks, drive(pass, &first, &last, n as usize))??;
        run.finish(pass)?;
    }
    Ok(())
}

/// The driver in one pass: sends a number in, takes it out, and times that.
async fn drive(mut pass: Pass, first: &Slot, last: &Slot, n: usize) -> Result<Pass> {
    while let Some(iteration) = pass.next_iteration() {
        let clock = Instant::now();
        first.put(iteration as usize).await;
        let number = last.take().await;
        pass.record(clock.elapsed());

        let expected = iteration as usize + n;
        ensure!(number == expected, "{number} came out, expected {expected}");
    }
    Ok(pass)
}
