//! A fixed pool of threads, and the queue through which async tasks hand their operations to it: a list behind a mutex,
//! and a condition variable, as in the crate blocking-permit 1.0.0.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, ensure};
use brigade::{StartGuard, StartLatch};
use host::console;
use tokio::sync::oneshot;

/// One operation for a thread of the pool.
type Job = Box<dyn FnOnce() + Send>;

/// Operations that wait for a thread.
#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

/// The tasks' end of the queue.
#[derive(Clone)]
pub struct Queue(Arc<(Mutex<Waiting>, Condvar)>);

/// The threads, and their queue.
pub struct Pool {
    /// The queue; each task has a clone of it.
    pub queue: Queue,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts all threads, and waits until they run.
    pub fn start(threads: u32) -> anyhow::Result<Self> {
        let mut pool = Pool { queue: Queue(Arc::default()), threads: Vec::new() };
        let mut latch = StartLatch::new(threads);
        for k in 0..threads {
            let (queue, guard) = (pool.queue.clone(), latch.guard()?);
            let thread = thread::Builder::new().spawn(move || queue.serve(guard));
            let refused = || format!("cannot start thread {k} of the pool: lower --pool");
            pool.threads.push(thread.with_context(refused)?);
        }
        latch.wait()?;
        Ok(pool)
    }

    /// Waits until all operations are done and the threads have ended. No more operations are accepted.
    pub fn join(self) -> anyhow::Result<()> {
        self.queue.waiting().is_closed = true;
        self.queue.0.1.notify_all();
        self.threads.into_iter().try_for_each(brigade::join)
    }
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // No operation runs under the lock, so that it is whole after a panic.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread of the pool: does one job after the other until the queue is closed and empty.
    fn serve(&self, guard: StartGuard) {
        guard.started();
        while let Some(job) = self.next() {
            job();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut waiting = self.waiting();
        while waiting.jobs.is_empty() && !waiting.is_closed {
            waiting = self.0.1.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.jobs.pop_front()
    }

    fn push(&self, job: Job) -> anyhow::Result<()> {
        let mut waiting = self.waiting();
        ensure!(!waiting.is_closed, "the pool accepts no more operations");
        waiting.jobs.push_back(job);
        drop(waiting);
        self.0.1.notify_one();
        Ok(())
    }

    /// Hands an operation to the pool and awaits what it returns.
    pub async fn dispatch<T: Send + 'static>(
        &self,
        operation: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let (tell, told) = oneshot::channel();
        let job = Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(operation));
            // Nobody listens after the end of the run.
            let _ = tell.send(outcome);
        });
        self.push(job)?;
        let outcome = told.await.context("the pool has ended")?;
        outcome.map_err(|panic| console::panic_error(&*panic))
    }
}
