//! What the workers of a runtime did, by the runtime's own count.

use harness::workers::{Counts, Worker};
use tokio::runtime::{Handle, RuntimeFlavor, RuntimeMetrics};

/// Where the workers' counts are read; `None` where all tasks run on the calling thread. A worker
/// adds its own up when it goes to wait, and else every 61 tasks (`event_interval` of
/// `tokio::runtime::Builder`).
pub fn counts(runtime: &Handle) -> Option<Box<dyn Counts>> {
    let has_workers = runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
    has_workers.then(|| Box::new(Metrics(runtime.metrics())) as Box<dyn Counts>)
}

#[derive(Debug)]
struct Metrics(RuntimeMetrics);

impl Counts for Metrics {
    fn now(&self) -> Vec<Worker> {
        let worker = |k| Worker {
            busy: self.0.worker_total_busy_duration(k).as_nanos() as u64,
            parks: self.0.worker_park_count(k),
        };
        (0..self.0.num_workers()).map(worker).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;
    use tokio::runtime::Builder;

    #[test]
    fn one_thread_alone_has_no_workers() {
        let runtime = Builder::new_current_thread().build().unwrap();
        assert!(counts(runtime.handle()).is_none());
    }

    #[test]
    fn a_worker_that_worked_was_busy_and_went_to_wait() {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        let counts = counts(runtime.handle()).unwrap();
        let before = counts.now();
        let nap = Duration::from_millis(20);
        runtime
            .block_on(runtime.spawn(async move { thread::sleep(nap) }))
            .unwrap();
        let sum = |of: fn(&Worker) -> u64| counts.now().iter().map(of).sum::<u64>();
        // They add up when the worker goes to wait, which may be a moment later.
        while sum(|worker| worker.busy) < nap.as_nanos() as u64 {
            thread::yield_now();
        }
        assert_eq!(before.len(), 2);
        assert!(sum(|worker| worker.parks) > before.iter().map(|w| w.parks).sum());
    }
}
