//! A minimal executor: it polls the tasks that are ready, and then one system call submits what they have
//! begun and waits for what completes.
//!
//! A task can wait for its operations and for other tasks; there is no timer and no other thread. Wakers
//! work on the thread that runs the executor, and do nothing elsewhere. A thread has one executor at
//! most.

#![expect(unsafe_code, reason = "a waker is made by hand")]

mod ends;
mod queue;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use anyhow::Context as _;
use contract::console;
use io_uring::IoUring;

pub(crate) use ends::{Reader, Writer};
use queue::Queue;

thread_local! {
    /// The run queue: numbers of the tasks that are ready, in order.
    static READY: RefCell<VecDeque<usize>> = const { RefCell::new(VecDeque::new()) };
}

/// The number of the future that `block_on` runs.
const ROOT: usize = usize::MAX;

type Body = Pin<Box<dyn Future<Output = ()>>>;

/// The memory of a token. The kernel reads and writes there, so that an operation owns it meanwhile and
/// leaves an empty one in its place.
pub(crate) trait Token: Default + Clone + 'static {
    /// Its bytes.
    fn bytes(&mut self) -> &mut [u8];
}

/// A token of one byte, without an allocation.
impl Token for [u8; 1] {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }
}

/// A token of several bytes.
impl Token for Box<[u8]> {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }
}

/// The executor.
pub(crate) struct Ring<T> {
    queue: Rc<Queue<T>>,
    /// By their numbers; a task that has ended leaves a gap.
    tasks: Rc<RefCell<Vec<Option<Body>>>>,
}

impl<T: Token> Ring<T> {
    /// An executor on this ring.
    pub(crate) fn new(io: IoUring) -> Self {
        Ring { queue: Rc::new(Queue::new(io)), tasks: Rc::default() }
    }

    fn poll_task(&self, number: usize) {
        // Out of its place meanwhile, so that it can spawn others.
        let task = self.tasks.borrow_mut().get_mut(number).and_then(Option::take);
        let Some(mut task) = task else {
            return;
        };
        if task.as_mut().poll(&mut Context::from_waker(&waker(number))).is_pending() {
            self.tasks.borrow_mut()[number] = Some(task);
        }
    }
}

impl<T> Clone for Ring<T> {
    fn clone(&self) -> Self {
        Ring { queue: Rc::clone(&self.queue), tasks: Rc::clone(&self.tasks) }
    }
}

impl<T: Token> Ring<T> {
    /// Runs the tasks until `future` has come to its end.
    ///
    /// # Errors
    /// What the kernel reports where a wait fails.
    pub(crate) fn block_on<O>(&self, future: impl Future<Output = O>) -> anyhow::Result<O> {
        let mut root = pin!(future);
        wake(ROOT);
        loop {
            while let Some(number) = READY.with_borrow_mut(VecDeque::pop_front) {
                if number != ROOT {
                    self.poll_task(number);
                } else if let Poll::Ready(output) =
                    root.as_mut().poll(&mut Context::from_waker(&waker(ROOT)))
                {
                    return Ok(output);
                }
            }
            let waited = self.queue.wait();
            waited.context("cannot wait for completions (io_uring_enter)")?;
        }
    }

    /// Starts a task.
    pub(crate) fn spawn<O: 'static>(
        &self,
        future: impl Future<Output = anyhow::Result<O>> + 'static,
    ) -> Task<O> {
        let outcome = Rc::new(RefCell::new(Outcome::Running(None)));
        let task = Task(Rc::clone(&outcome));
        let body = async move {
            let mut future = pin!(future);
            let caught =
                poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
                    Ok(poll) => poll,
                    Err(panic) => Poll::Ready(Err(console::panic_error(&*panic))),
                });
            let result = caught.await;
            if let Outcome::Running(Some(joiner)) = outcome.replace(Outcome::Ended(result)) {
                joiner.wake();
            }
        };
        let mut tasks = self.tasks.borrow_mut();
        wake(tasks.len());
        tasks.push(Some(Box::pin(body)));
        task
    }

    /// Takes the end of a link that is read from, a blocking descriptor.
    pub(crate) fn reader(&self, fd: OwnedFd) -> Reader<T> {
        Reader::new(Rc::clone(&self.queue), fd)
    }

    /// Takes the end of a link that is written to, a blocking descriptor.
    pub(crate) fn writer(&self, fd: OwnedFd) -> Writer<T> {
        Writer::new(Rc::clone(&self.queue), fd)
    }
}

/// A spawned task: its result, or its panic.
pub(crate) struct Task<O>(Rc<RefCell<Outcome<O>>>);

enum Outcome<O> {
    /// The waker of whoever awaits it.
    Running(Option<Waker>),
    Ended(anyhow::Result<O>),
    Taken,
}

impl<O> Future for Task<O> {
    type Output = anyhow::Result<O>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut outcome = self.0.borrow_mut();
        match std::mem::replace(&mut *outcome, Outcome::Taken) {
            Outcome::Ended(result) => Poll::Ready(result),
            Outcome::Running(_) => {
                *outcome = Outcome::Running(Some(cx.waker().clone()));
                Poll::Pending
            }
            Outcome::Taken => panic!("a task's outcome was taken before"),
        }
    }
}

/// Puts a task into the run queue, which skips one that has ended.
fn wake(number: usize) {
    READY.with_borrow_mut(|ready| ready.push_back(number));
}

/// Waker of a task: its number, without a count or an allocation.
fn waker(number: usize) -> Waker {
    const TABLE: RawWakerVTable = RawWakerVTable::new(
        |number| RawWaker::new(number, &TABLE),
        |number| wake(number.addr()),
        |number| wake(number.addr()),
        |_| {},
    );
    let number = std::ptr::without_provenance(number);
    // SAFETY: the table's functions take the pointer for a number and never follow it; they touch
    // nothing but the run queue of the thread that calls them.
    unsafe { Waker::from_raw(RawWaker::new(number, &TABLE)) }
}

/// Lets every other task that is ready run first.
pub(crate) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
