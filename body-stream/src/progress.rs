//! Whether anything goes on: a response that stops coming must not be waited for without end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::bail;
use harness::units::Nanos;
use tokio::time::timeout;

/// How far one task has come. Each has a cache line of its own: it counts with every piece.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Progress(AtomicU64);

impl Progress {
    /// Another piece has come, or another operation is done.
    pub(crate) fn step(&self) {
        // Nobody else counts here.
        let steps = self.0.load(Ordering::Relaxed);
        self.0.store(steps.wrapping_add(1), Ordering::Relaxed);
    }

    fn steps(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Looks after all tasks.
#[derive(Debug)]
pub(crate) struct Watch {
    tasks: Vec<Arc<Progress>>,
    patience: Duration,
}

impl Watch {
    /// Nobody is to stand still for longer than `patience`.
    pub(crate) fn new(patience: Duration) -> Self {
        Watch {
            tasks: Vec::new(),
            patience,
        }
    }

    /// For one more task.
    pub(crate) fn progress(&mut self) -> Arc<Progress> {
        let progress = Arc::default();
        self.tasks.push(Arc::clone(&progress));
        progress
    }

    /// Awaits something, for as long as any task gets on.
    ///
    /// # Errors
    /// Its own, or that nothing has come for too long.
    pub(crate) async fn over<T>(
        &self,
        awaited: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        let mut awaited = pin!(awaited);
        let mut seen = self.steps();
        loop {
            match timeout(self.patience, awaited.as_mut()).await {
                Ok(outcome) => return outcome,
                Err(_) if self.steps() != seen => seen = self.steps(),
                Err(_) => bail!(
                    "nothing has come of any body for {} (--timeout)",
                    Nanos(self.patience.as_nanos() as f64)
                ),
            }
        }
    }

    fn steps(&self) -> u64 {
        self.tasks
            .iter()
            .fold(0, |sum, task| sum.wrapping_add(task.steps()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Instant;

    use tokio::runtime::{Builder, Runtime};
    use tokio::time::sleep;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(50);

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn standing_still_comes_to_an_end() {
        let mut watch = Watch::new(PATIENCE);
        let _progress = watch.progress();
        let waited = runtime().block_on(watch.over(pending::<anyhow::Result<()>>()));
        let text = waited.unwrap_err().to_string();
        assert!(text.contains("for 50.00ms (--timeout)"), "{text}");
    }

    #[test]
    fn what_gets_on_may_take_its_time() {
        let mut watch = Watch::new(PATIENCE);
        let progress = [watch.progress(), watch.progress()];
        let slow = async {
            for k in 0..15 {
                sleep(PATIENCE / 3).await;
                progress[k % 2].step();
            }
            Ok(7)
        };
        let begun = Instant::now();
        assert_eq!(runtime().block_on(watch.over(slow)).unwrap(), 7);
        assert!(begun.elapsed() > PATIENCE);
    }
}
