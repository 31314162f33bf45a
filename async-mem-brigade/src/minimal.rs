//! A minimal executor: the lower bound that shows how much of a hop is the runtime's.
//!
//! One thread, first in first out, real wakers. The list of ready tasks goes through the tasks
//! themselves, and only their own thread uses it: a wake-up allocates nothing and needs neither a lock
//! nor an atomic operation. Left out of what a runtime has: I/O, timers, other threads and wake-ups from
//! them, fairness, and the release of a task's memory before all end.

#![expect(unsafe_code, reason = "the list of ready tasks goes through the tasks")]

mod home;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

pub use home::Local;
use home::{Claim, Home};

/// The executor of the thread that made it. It keeps all of its tasks until its end.
pub struct Executor {
    /// First, so that it ends before the tasks.
    claim: Claim,
    tasks: RefCell<Vec<Arc<Task>>>,
}

/// A task that was spawned. It runs, whether this is kept or not.
pub struct Handle<T>(Arc<Task>, PhantomData<Rc<T>>);

struct Task {
    home: Home,
    is_ready: Cell<bool>,
    next: Cell<Option<NonNull<Task>>>,
    state: RefCell<State>,
}

#[derive(Default)]
enum State {
    Runs(Pin<Box<dyn Run + Send>>),
    Ended(thread::Result<Output>),
    #[default]
    Gone,
}

/// Output of a task, of any type.
type Output = Box<dyn Any + Send>;

/// A future with any output.
trait Run {
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<Output>;
}

impl<F: Future<Output: Send + 'static>> Run for F {
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<Output> {
        Future::poll(self, context).map(|output| Box::new(output) as Output)
    }
}

/// Tasks of this thread's executor that are ready to run.
struct Ready {
    first: Cell<Option<NonNull<Task>>>,
    last: Cell<Option<NonNull<Task>>>,
}

thread_local! {
    static READY: Ready = const { Ready { first: Cell::new(None), last: Cell::new(None) } };
}

// SAFETY: all but `home` is used by one thread alone, that of `home`: by `wake_by_ref`, which checks that
// it is there; by the list, the executor and handles, which do not leave it. Wakers do: another thread
// may drop the last of them, and what is in the state is Send.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Lost where it comes from another thread, or when the executor is gone.
    fn wake_by_ref(self: &Arc<Self>) {
        if self.home.is_here() && !self.is_ready.replace(true) {
            READY.with(|ready| ready.append(Arc::as_ptr(self)));
        }
    }
}

impl Ready {
    fn append(&self, task: *const Task) {
        let task = NonNull::new(task.cast_mut());
        match self.last.replace(task) {
            // SAFETY: the executor keeps its tasks, and the next one begins with an empty list.
            Some(last) => unsafe { last.as_ref() }.next.set(task),
            None => self.first.set(task),
        }
    }

    /// Polls tasks until none is ready.
    fn run(&self) {
        while let Some(first) = self.first.get() {
            // SAFETY: the task is in memory, as in `append`. The pointer is that of an Arc, and the
            // reference that is made of it is not dropped.
            let (task, waker) = unsafe { (first.as_ref(), Arc::from_raw(first.as_ptr())) };
            let waker = ManuallyDrop::new(Waker::from(waker));
            self.first.set(task.next.take());
            if self.first.get().is_none() {
                self.last.set(None);
            }
            task.is_ready.set(false);
            task.poll(&mut Context::from_waker(&waker));
        }
    }

    fn clear(&self) {
        self.first.set(None);
        self.last.set(None);
    }
}

impl Task {
    fn poll(&self, context: &mut Context) {
        let state = &mut *self.state.borrow_mut();
        if let State::Runs(task) = state {
            let poll = AssertUnwindSafe(|| task.as_mut().poll(context));
            *state = State::Ended(match catch_unwind(poll) {
                Ok(Poll::Pending) => return,
                Ok(Poll::Ready(output)) => Ok(output),
                Err(panic) => Err(panic),
            });
        }
    }
}

impl Executor {
    /// An executor for this thread.
    ///
    /// # Panics
    /// Where this thread has one already.
    #[expect(clippy::new_without_default, reason = "it may panic")]
    pub fn new() -> Self {
        let claim = Claim::new();
        READY.with(Ready::clear);
        Executor { claim, tasks: RefCell::default() }
    }

    /// Makes a task, which is ready to run.
    pub fn spawn<F>(&self, future: F) -> Handle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let task = Arc::new(Task {
            home: self.claim.home(),
            is_ready: Cell::new(false),
            next: Cell::new(None),
            state: RefCell::new(State::Runs(Box::pin(future))),
        });
        self.tasks.borrow_mut().push(Arc::clone(&task));
        task.wake_by_ref();
        Handle(task, PhantomData)
    }

    /// Runs `main`, and all tasks whenever it waits. It is polled again when no task is ready.
    pub fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        let mut main = pin!(main);
        loop {
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(output) = main.as_mut().poll(&mut context) {
                return output;
            }
            READY.with(Ready::run);
        }
    }

    /// Awaits, in `main`, the output of a task, or its panic. `None` where no task is ready to run, so
    /// that this one cannot end; it is then dropped.
    pub async fn join<T: 'static>(&self, task: Handle<T>) -> Option<thread::Result<T>> {
        let state = &task.0.state;
        poll_fn(|_| {
            let has_ended = matches!(*state.borrow(), State::Ended(_));
            match has_ended || READY.with(|ready| ready.first.get().is_none()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        match state.take() {
            State::Ended(Ok(output)) => output.downcast().ok().map(|output| Ok(*output)),
            State::Ended(Err(panic)) => Some(Err(panic)),
            State::Runs(_) | State::Gone => None,
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // Waiting tasks may hold each other's wakers, and so each other.
        for task in self.tasks.get_mut() {
            drop(task.state.take());
        }
    }
}
