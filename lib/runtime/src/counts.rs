//! What the workers of a runtime did, by the runtime's own count.

use contract::message::Extra;
use contract::samples::Recorder;
use tokio::runtime::{Handle, RuntimeFlavor, RuntimeMetrics};

/// A reading of the workers' counts; empty where all tasks run on the calling thread. A worker adds its own up when it parks, and else every 61 tasks
/// (`event_interval` of `tokio::runtime::Builder`).
#[derive(Debug)]
pub struct WorkerCounts {
    metrics: RuntimeMetrics,
    /// Nanoseconds that each worker was busy, and times that it parked.
    before: Vec<(u64, u64)>,
}

impl WorkerCounts {
    /// Reading of now.
    pub fn now(runtime: &Handle) -> Self {
        let metrics = runtime.metrics();
        let before = match runtime.runtime_flavor() {
            RuntimeFlavor::MultiThread => read(&metrics),
            _ => Vec::new(),
        };
        WorkerCounts { metrics, before }
    }

    /// Adds what each worker did since: distributions over the workers.
    pub fn add_to(&self, extra: &mut Extra) {
        let since = |of: fn(&(u64, u64)) -> u64| {
            let now = read(&self.metrics);
            let pairs = now.iter().zip(&self.before);
            pairs
                .map(|(now, before)| of(now).saturating_sub(of(before)))
                .collect::<Recorder>()
                .distribution()
        };
        for (name, of) in
            [("worker_busy", (|w| w.0) as fn(&(u64, u64)) -> u64), ("worker_parks_count", |w| w.1)]
        {
            if let Some(distribution) = since(of) {
                extra.insert(name.to_owned(), distribution);
            }
        }
    }
}

fn read(metrics: &RuntimeMetrics) -> Vec<(u64, u64)> {
    let worker = |k| {
        let busy = metrics.worker_total_busy_duration(k).as_nanos() as u64;
        (busy, metrics.worker_park_count(k))
    };
    (0..metrics.num_workers()).map(worker).collect()
}
