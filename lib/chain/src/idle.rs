//! Idle async tasks: the proof that nothing woke them.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::ensure;

/// Number of times that idle tasks were polled.
#[derive(Clone, Debug, Default)]
pub struct PollCount(Arc<AtomicU64>);

impl PollCount {
    /// The same task; its polls count.
    pub fn of<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        let polls = Arc::clone(&self.0);
        let mut task = Box::pin(task);
        poll_fn(move |context| {
            polls.fetch_add(1, Ordering::Relaxed);
            task.as_mut().poll(context)
        })
    }

    /// Checks that each of so many tasks, which have started and not ended, was polled once: when it
    /// began to wait.
    pub fn check(&self, tasks: u32) -> anyhow::Result<()> {
        let polls = self.0.load(Ordering::Relaxed);
        let woken = polls.saturating_sub(tasks.into());
        ensure!(woken == 0, "idle tasks were woken {woken} times, so they were not idle");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn a_task_that_is_polled_again_is_found() {
        let polls = PollCount::default();
        let mut tasks = [pin!(polls.of(pending::<()>())), pin!(polls.of(pending::<()>()))];
        let mut context = Context::from_waker(Waker::noop());
        for task in &mut tasks {
            assert!(task.as_mut().poll(&mut context).is_pending());
        }
        assert!(polls.check(2).is_ok());
        assert!(tasks[0].as_mut().poll(&mut context).is_pending());
        let error = polls.check(2).unwrap_err().to_string();
        assert!(error.contains("woken 1 times"), "{error}");
    }
}
