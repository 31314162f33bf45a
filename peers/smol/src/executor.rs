//! smol's executor on one thread.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use async_executor::{LocalExecutor, Task};
use contract::console;

/// The executor that smol runs tasks by, for the thread that made it.
#[derive(Debug, Default)]
pub(crate) struct Executor(LocalExecutor<'static>);

impl Executor {
    /// Runs `main`, and the tasks whenever it waits.
    fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        let mut running = pin!(self.0.run(main));
        let waker = Waker::from(Arc::new(Parked(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(output) = running.as_mut().poll(&mut context) {
                return output;
            }
            thread::park();
        }
    }
}

impl async_mem_brigade::Executor for Executor {
    type Task<T> = Task<anyhow::Result<T>>;

    fn spawn<T: Send + 'static>(
        &self,
        _: u32,
        task: impl Future<Output = anyhow::Result<T>> + Send + 'static,
    ) -> Self::Task<T> {
        self.0.spawn(task)
    }

    fn join<T: 'static>(&self, _: u32, mut task: Self::Task<T>) -> anyhow::Result<T> {
        self.block_on(poll_fn(|context| {
            // A panic goes on in whoever awaits the task.
            let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut task).poll(context)));
            polled.unwrap_or_else(|panic| Poll::Ready(Err(console::panic_error(&*panic))))
        }))
    }
}

/// The thread that runs the tasks, which a wake-up unparks.
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_mem_brigade::Executor as _;
    use std::panic;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_panic_ends_its_task_alone() {
        let executor = Executor::default();
        let bad = executor.spawn::<()>(0, async { panic::resume_unwind(Box::new("out of luck")) });
        let good = executor.spawn(0, async { Ok(7) });
        let error = executor.join(0, bad).unwrap_err().to_string();
        assert!(error.contains("out of luck"), "{error}");
        assert_eq!(executor.join(0, good).unwrap(), 7);
    }

    #[test]
    fn a_task_that_another_thread_wakes_goes_on() {
        let executor = Executor::default();
        let (send, wakers) = channel::<Waker>();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            wakers.recv().unwrap().wake();
        });
        let mut has_waited = false;
        let task = executor.spawn(
            0,
            poll_fn(move |context| {
                if has_waited {
                    return Poll::Ready(Ok(()));
                }
                has_waited = true;
                send.send(context.waker().clone()).unwrap();
                Poll::Pending
            }),
        );
        executor.join(0, task).unwrap();
        other.join().unwrap();
    }
}
