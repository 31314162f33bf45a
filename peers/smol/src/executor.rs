//! smol's executor on one thread.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use async_executor::{LocalExecutor, Task};
use contract::console;
use futures_lite::future::block_on;

/// The executor that smol runs tasks by, for the thread that made it.
#[derive(Debug, Default)]
pub(crate) struct Executor(LocalExecutor<'static>);

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
        let ended = poll_fn(|context| {
            // A panic goes on in whoever awaits the task.
            let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut task).poll(context)));
            polled.unwrap_or_else(|panic| Poll::Ready(Err(console::panic_error(&*panic))))
        });
        block_on(self.0.run(ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_mem_brigade::Executor as _;
    use std::panic;

    #[test]
    fn a_panic_ends_its_task_alone() {
        let executor = Executor::default();
        let bad = executor.spawn::<()>(0, async { panic::resume_unwind(Box::new("out of luck")) });
        let good = executor.spawn(0, async { Ok(7) });
        let error = executor.join(0, bad).unwrap_err().to_string();
        assert!(error.contains("out of luck"), "{error}");
        assert_eq!(executor.join(0, good).unwrap(), 7);
    }
}
