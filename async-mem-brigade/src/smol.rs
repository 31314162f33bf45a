//! smol's executor on one thread.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use async_executor::{LocalExecutor, Task};

/// The crate that smol runs tasks by, for the thread that has made it.
#[derive(Debug, Default)]
pub(crate) struct Executor(LocalExecutor<'static>);

/// A task that was spawned; it ends where this is dropped.
#[derive(Debug)]
pub(crate) struct Handle<T>(Task<T>);

impl Executor {
    /// Runs `main`, and the tasks whenever it waits.
    pub(crate) fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        let mut running = pin!(self.0.run(main));
        let waker = Waker::from(Arc::new(Sleeper(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(output) = running.as_mut().poll(&mut context) {
                return output;
            }
            thread::park();
        }
    }

    /// Makes a task, which is ready to run.
    pub(crate) fn spawn<T: 'static>(&self, task: impl Future<Output = T> + 'static) -> Handle<T> {
        Handle(self.0.spawn(task))
    }
}

impl<T> Handle<T> {
    /// Awaits what a task puts out or panics with.
    pub(crate) async fn join(mut self) -> Result<T, Box<dyn Any + Send>> {
        poll_fn(|context| {
            // A panic goes on in who awaits the task.
            let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.0).poll(context)));
            match polled {
                Ok(poll) => poll.map(Ok),
                Err(panic) => Poll::Ready(Err(panic)),
            }
        })
        .await
    }
}

/// Wakes the thread that runs the tasks.
struct Sleeper(Thread);

impl Wake for Sleeper {
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
    use std::panic;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn what_a_task_puts_out_is_joined() {
        let executor = Executor::default();
        let output = executor.block_on(async { executor.spawn(async { 7 }).join().await });
        assert_eq!(output.unwrap(), 7);
    }

    #[test]
    fn a_panic_ends_its_task_alone() {
        let executor = Executor::default();
        executor.block_on(async {
            let bad: Handle<()> =
                executor.spawn(async { panic::resume_unwind(Box::new("out of luck")) });
            let good = executor.spawn(async { 7 });
            let panic = bad.join().await.unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"out of luck"));
            assert_eq!(good.join().await.unwrap(), 7);
        });
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
        let task = poll_fn(move |context| {
            if has_waited {
                return Poll::Ready(());
            }
            has_waited = true;
            send.send(context.waker().clone()).unwrap();
            Poll::Pending
        });
        executor.block_on(executor.spawn(task).join()).unwrap();
        other.join().unwrap();
    }
}
