//! A fixed pool of threads, and the queue through which async tasks hand their operations to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};
use brigade::{StartGuard, StartLatch};
use clap::ValueEnum;
use contract::console;
use crossbeam_channel::{Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Bound of the operations that wait in the queue for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bound {
    /// any number of operations
    Unbounded,
    /// as many operations as the pool has threads; a task that finds the queue full awaits a place, and blocks no worker
    Bounded,
}

/// One operation for a thread of the pool.
struct Job {
    run: Box<dyn FnOnce() + Send>,
    /// Its place in a bounded queue.
    room: Option<OwnedSemaphorePermit>,
}

/// The tasks' end of the queue.
#[derive(Clone, Debug)]
pub struct Queue {
    jobs: Sender<Job>,
    /// Room that is left in a bounded queue. A full queue of crossbeam blocks the thread that sends;
    /// this lets the task wait instead.
    room: Option<Arc<Semaphore>>,
}

/// The threads, and an end of their queue.
#[derive(Debug)]
pub struct Pool {
    /// The queue; each task has a clone of it.
    pub queue: Queue,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts all threads, and waits until they run.
    pub fn start(threads: u32, bound: Bound) -> anyhow::Result<Self> {
        let (jobs, taken) = match bound {
            Bound::Unbounded => crossbeam_channel::unbounded(),
            Bound::Bounded => crossbeam_channel::bounded(threads as usize),
        };
        let room = (bound == Bound::Bounded).then(|| Arc::new(Semaphore::new(threads as usize)));
        let mut pool = Pool { queue: Queue { jobs, room }, threads: Vec::new() };
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
        drop(job.room);
        (job.run)();
    }
}

impl Queue {
    /// Hands an operation to the pool and awaits what it returns.
    pub async fn dispatch<T: Send + 'static>(
        &self,
        operation: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let room = match &self.room {
            Some(room) => Some(Arc::clone(room).acquire_owned().await?),
            None => None,
        };
        let (tell, told) = oneshot::channel();
        let run = Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(operation));
            // Nobody listens after the end of the run.
            let _ = tell.send(outcome);
        });
        // A bounded queue has room: that is what was awaited.
        let sent = self.jobs.try_send(Job { run, room });
        sent.map_err(|e| anyhow!("the pool accepts no operation: {e}"))?;
        let outcome = told.await.context("the pool has ended")?;
        outcome.map_err(|panic| console::panic_error(&*panic))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use super::*;

    /// One thread, so one place: one job is under way, one waits, and the third task waits itself.
    #[test]
    fn a_task_awaits_the_room_in_a_bounded_queue() {
        let pool = Pool::start(1, Bound::Bounded).unwrap();
        let queue = pool.queue.clone();
        let (gate, wait) = mpsc::channel::<()>();
        let mut first = pin!(queue.dispatch(move || wait.recv().is_err()));
        let (mut second, mut third) = (pin!(queue.dispatch(|| 2)), pin!(queue.dispatch(|| 3)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        while queue.room.as_ref().unwrap().available_permits() == 0 {
            thread::yield_now();
        }
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(third.as_mut().poll(&mut context).is_pending());
        assert_eq!(queue.jobs.len(), 1);
        drop(gate);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let done = runtime.block_on(async {
            (first.await.unwrap(), second.await.unwrap(), third.await.unwrap())
        });
        assert_eq!(done, (true, 2, 3));
    }
}
