//! The executor of a page: tasks that are polled when they are ready, and one system call that
//! submits what they have begun and waits for what completes.
//!
//! There is no timer, no other thread, and nothing that a task could wait for but its operations
//! and other tasks. Wakers are of use to the thread that runs the executor alone: elsewhere they do
//! nothing. A thread has one executor at most.

#![expect(unsafe_code, reason = "a waker is made by hand")]

mod buffers;
mod ends;
mod queue;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use harness::links::Transport;
use harness::panics;
use harness::waits::Waits;
use io_uring::IoUring;

use crate::executor::{Executor, Token};
pub(crate) use buffers::Pool;
use ends::{Reader, Writer};
use queue::Queue;

thread_local! {
    /// The run queue: tasks that are to be polled, by their numbers, first come, first served.
    static READY: RefCell<VecDeque<usize>> = const { RefCell::new(VecDeque::new()) };
}

/// The number of the future that `block_on` runs.
const ROOT: usize = usize::MAX;

/// What is polled of a task.
type Body = Pin<Box<dyn Future<Output = ()>>>;

/// The executor.
pub(crate) struct Ring<T> {
    queue: Rc<Queue<T>>,
    /// By their numbers; what has ended has left a gap.
    tasks: Rc<RefCell<Vec<Option<Body>>>>,
    multishot: Option<Transport>,
}

impl<T: Token> Ring<T> {
    /// An executor on this ring. With `multishot`, links of this transport are read by operations
    /// that stay, into buffers of such a pool.
    pub(crate) fn new(io: IoUring, multishot: Option<(Transport, Pool)>) -> anyhow::Result<Self> {
        let (transport, pool) = multishot.unzip();
        Ok(Ring {
            queue: Rc::new(Queue::new(io, pool)?),
            tasks: Rc::default(),
            multishot: transport,
        })
    }

    fn poll_task(&self, number: usize) {
        // Out of its place meanwhile, so that it can spawn others.
        let task = self
            .tasks
            .borrow_mut()
            .get_mut(number)
            .and_then(Option::take);
        let Some(mut task) = task else {
            return;
        };
        if task
            .as_mut()
            .poll(&mut Context::from_waker(&waker(number)))
            .is_pending()
        {
            self.tasks.borrow_mut()[number] = Some(task);
        }
    }
}

impl<T> Clone for Ring<T> {
    fn clone(&self) -> Self {
        Ring {
            queue: Rc::clone(&self.queue),
            tasks: Rc::clone(&self.tasks),
            multishot: self.multishot,
        }
    }
}

impl<T: Token> Executor<T> for Ring<T> {
    type Reader = Reader<T>;
    type Writer = Writer<T>;
    type Task<O: 'static> = Task<O>;

    fn block_on<O>(&self, future: impl Future<Output = O>) -> io::Result<O> {
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
            self.queue.wait()?;
        }
    }

    fn spawn<O: 'static>(
        &self,
        future: impl Future<Output = anyhow::Result<O>> + 'static,
    ) -> Task<O> {
        let outcome = Rc::new(RefCell::new(Outcome::Running(None)));
        let task = Task(Rc::clone(&outcome));
        let body = async move {
            let mut future = pin!(future);
            let caught =
                poll_fn(
                    |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
                        Ok(poll) => poll,
                        Err(panic) => Poll::Ready(Err(panics::error(&*panic))),
                    },
                );
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

    fn reader(&self, fd: OwnedFd) -> io::Result<Reader<T>> {
        Ok(Reader::new(Rc::clone(&self.queue), fd, self.multishot))
    }

    fn writer(&self, fd: OwnedFd) -> io::Result<Writer<T>> {
        Ok(Writer::new(Rc::clone(&self.queue), fd))
    }

    fn waits(&self) -> Option<Waits> {
        Some(self.queue.waits())
    }
}

/// A task that was spawned.
pub(crate) struct Task<O>(Rc<RefCell<Outcome<O>>>);

enum Outcome<O> {
    /// With whom to wake at the end.
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

/// Puts a task into the run queue. One that has ended is passed over there.
fn wake(number: usize) {
    READY.with_borrow_mut(|ready| ready.push_back(number));
}

/// What wakes a task: its number, and nothing to be counted or freed.
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
