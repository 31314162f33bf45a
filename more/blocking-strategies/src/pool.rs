//! A fixed pool of threads, and the queue through which async tasks hand their operations to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};
use brigade::{StartGuard, StartLatch};
use contract::console;
use crossbeam_channel::{Receiver, Sender, unbounded};
use tokio::sync::oneshot;

/// One operation for a thread of the pool.
type Job = Box<dyn FnOnce() + Send>;

/// The tasks' end of the queue.
#[derive(Clone, Debug)]
pub struct Queue(Sender<Job>);

/// The threads, and an end of their queue.
#[derive(Debug)]
pub struct Pool {
    /// The queue; each task has a clone of it.
    pub queue: Queue,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts all threads, and waits until they run.
    pub fn start(threads: u32) -> anyhow::Result<Self> {
        let (jobs, taken) = unbounded();
        let mut pool = Pool { queue: Queue(jobs), threads: Vec::new() };
        let mut latch = StartLatch::new(threads);
        for k in 0..threads {
            let (taken, guard) = (taken.clone(), latch.guard()?);
            let thread = thread::Builder::new().spawn(move || serve(&taken, guard));
            let refused = || format!("cannot start thread {k} of the pool: lower --pool");
            pool.threads.push(thread.with_context(refused)?);
        }
        latch.wait()?;
        Ok(pool)
    }

    /// Waits until all operations are done and the threads have ended. They end when the last
    /// [`Queue`] is dropped.
    pub fn join(self) -> anyhow::Result<()> {
        drop(self.queue);
        self.threads.into_iter().try_for_each(brigade::join)
    }
}

/// A thread of the pool: does one job after the other until nobody can send any more.
fn serve(jobs: &Receiver<Job>, guard: StartGuard) {
    guard.started();
    for job in jobs {
        job();
    }
}

impl Queue {
    /// Hands an operation to the pool and awaits what it returns.
    pub async fn dispatch<T: Send + 'static>(
        &self,
        operation: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let (tell, told) = oneshot::channel();
        let sent = self.0.send(Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(operation));
            // Nobody listens after the end of the run.
            let _ = tell.send(outcome);
        }));
        sent.map_err(|e| anyhow!("the pool accepts no operation: {e}"))?;
        let outcome = told.await.context("the pool has ended")?;
        outcome.map_err(|panic| console::panic_error(&*panic))
    }
}
