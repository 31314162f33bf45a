//! A minimal executor: the lower bound that shows how much of a hop is the runtime's.
//!
//! One thread, first in first out. A waker is the number of its task, and a wake-up puts the number into
//! a queue of the thread's own: it needs neither a lock nor an atomic operation. Left out of what a
//! runtime has: I/O, timers, other threads and wake-ups from them, fairness, the release of a task's
//! memory before all end, and the care that a task that was woken twice is polled once.

#![expect(unsafe_code, reason = "a waker that is a number is made by hand")]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;

use anyhow::bail;
use contract::console;

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

/// The executor of the thread that made it. It keeps all of its tasks until its end.
pub struct Executor(RefCell<Vec<Task>>);

/// A task that was spawned. It runs, whether this is kept or not.
pub struct Handle<T>(usize, PhantomData<T>);

enum Task {
    Runs(Pin<Box<dyn Run>>),
    Ended(thread::Result<Output>),
    Joined,
}

/// Output of a task, of any type.
type Output = Box<dyn Any>;

/// A future with any output.
trait Run {
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<Output>;
}

impl<F: Future<Output: 'static>> Run for F {
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<Output> {
        Future::poll(self, context).map(|output| Box::new(output) as Output)
    }
}

impl Executor {
    /// An executor for this thread, in place of any before.
    #[expect(clippy::new_without_default, reason = "it clears the thread's queue")]
    pub fn new() -> Self {
        READY.with_borrow_mut(|ready| ready.clear());
        Executor(RefCell::default())
    }

    /// Polls tasks until none is ready.
    fn run(&self) {
        let current = Cell::new(0);
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_until_panic(&current))) {
            self.0.borrow_mut()[current.get()] = Task::Ended(Err(panic));
        }
    }

    fn run_until_panic(&self, current: &Cell<usize>) {
        let mut tasks = self.0.borrow_mut();
        while let Some(number) = READY.with_borrow_mut(|ready| ready.pop_front()) {
            let Some(Task::Runs(task)) = tasks.get_mut(number) else { continue };
            current.set(number);
            // SAFETY: nothing is behind the pointer, which is a number, and WAKER's functions do not
            // follow it. They may run on any thread, which has a queue of its own.
            let waker = unsafe { Waker::new(ptr::without_provenance(number), &WAKER) };
            if let Poll::Ready(output) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
                tasks[number] = Task::Ended(Ok(output));
            }
        }
    }
}

impl crate::Executor for Executor {
    type Task<T> = Handle<T>;

    fn spawn<T: Send + 'static>(
        &self,
        _: u32,
        task: impl Future<Output = anyhow::Result<T>> + Send + 'static,
    ) -> Handle<T> {
        let mut tasks = self.0.borrow_mut();
        wake(tasks.len());
        tasks.push(Task::Runs(Box::pin(task)));
        Handle(tasks.len() - 1, PhantomData)
    }

    fn join<T: 'static>(&self, _: u32, task: Handle<T>) -> anyhow::Result<T> {
        self.run();
        match mem::replace(&mut self.0.borrow_mut()[task.0], Task::Joined) {
            Task::Ended(Ok(output)) => *output.downcast().expect("the output of this task"),
            Task::Ended(Err(panic)) => Err(console::panic_error(&*panic)),
            _ => bail!("it waits for ever: no task is left that could wake it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Executor as _;
    use std::future::{pending, poll_fn};

    #[test]
    fn a_task_that_panics_or_waits_for_ever_does_so_alone() {
        let executor = Executor::new();
        let bad = executor.spawn::<()>(0, async { panic!("out of luck") });
        let stuck = executor.spawn::<()>(0, async { pending().await });
        let good = executor.spawn(0, async { Ok(7) });
        let error = executor.join(0, bad).unwrap_err().to_string();
        assert!(error.contains("out of luck"), "{error}");
        let error = executor.join(0, stuck).unwrap_err().to_string();
        assert!(error.contains("waits for ever"), "{error}");
        assert_eq!(executor.join(0, good).unwrap(), 7);
    }

    #[test]
    fn a_waker_outlives_its_executor_and_its_thread() {
        let executor = Executor::new();
        let waker = poll_fn(|context| Poll::Ready(Ok(context.waker().clone())));
        let waker = executor.join(0, executor.spawn(0, waker)).unwrap();
        drop(executor);
        waker.wake_by_ref();
        let elsewhere = waker.clone();
        thread::spawn(move || elsewhere.wake()).join().unwrap();
        let executor = Executor::new();
        waker.wake();
        assert_eq!(executor.join(0, executor.spawn(0, async { Ok(3) })).unwrap(), 3);
    }
}
