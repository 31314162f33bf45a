//! Counts of a runtime's workers, as the runtime itself keeps them.

use contract::Pass;
use contract::samples::Recorder;
use tokio::runtime::{Handle, RuntimeFlavor, RuntimeMetrics};

/// A reading of the workers' counts; empty if all tasks run on the calling thread. A worker adds its own
/// up when it parks, and else every 61 tasks (`event_interval` of `tokio::runtime::Builder`).
#[derive(Debug)]
pub struct WorkerCounts {
    metrics: RuntimeMetrics,
    before: Vec<Counts>,
}

/// Nanoseconds that a worker was busy, and times that it parked.
type Counts = (u64, u64);

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
    pub fn add_to(&self, pass: &mut Pass) {
        let since = read(&self.metrics).into_iter().zip(&self.before);
        let since = since.map(|(now, before)| (now.0 - before.0, now.1 - before.1));
        let (busy, parks): (Vec<u64>, Vec<u64>) = since.unzip();
        for (name, counts) in [("worker_busy", busy), ("worker_parks_count", parks)] {
            pass.add_extra(name, &counts.into_iter().collect::<Recorder>());
        }
    }
}

fn read(metrics: &RuntimeMetrics) -> Vec<Counts> {
    let workers = 0..metrics.num_workers();
    workers
        .map(|k| {
            let busy = metrics.worker_total_busy_duration(k).as_nanos() as u64;
            (busy, metrics.worker_park_count(k))
        })
        .collect()
}
