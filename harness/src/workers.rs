//! What the threads of an async runtime did while the laps were timed.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// What each worker of a runtime did in the timed iterations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workers {
    /// How long those iterations took with all that lies between them, in ns.
    pub elapsed: u64,
    /// The workers, in the runtime's own order.
    pub each: Vec<Worker>,
}

/// What one worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// How long it was at work on tasks, in ns. A runtime may add time up some tasks later than it
    /// is spent.
    pub busy: u64,
    /// How often it found nothing to do and went to wait: for another worker, or in epoll_wait(2)
    /// for I/O. A wait may be over at once.
    pub parks: u64,
}

/// A runtime that counts what its workers do.
pub trait Counts: Debug + Send {
    /// What each has done since it was started.
    fn now(&self) -> Vec<Worker>;
}

/// Reads the counts of a runtime before the laps that are timed and after them.
#[derive(Debug)]
pub(crate) struct Watch {
    counts: Box<dyn Counts>,
    before: Option<(Instant, Vec<Worker>)>,
    did: Option<Workers>,
}

impl Watch {
    pub(crate) fn new(counts: Box<dyn Counts>) -> Self {
        Watch {
            counts,
            before: None,
            did: None,
        }
    }

    pub(crate) fn begin(&mut self) {
        let now = self.counts.now();
        self.before = Some((Instant::now(), now));
    }

    /// Where the laps that were begun end; after that it changes nothing.
    pub(crate) fn end(&mut self) {
        if let Some((since, before)) = self.before.take() {
            let elapsed = since.elapsed();
            self.did = Some(between(elapsed, &before, &self.counts.now()));
        }
    }

    pub(crate) fn did(&self) -> Option<Workers> {
        self.did.clone()
    }
}

fn between(elapsed: Duration, before: &[Worker], now: &[Worker]) -> Workers {
    let each = before.iter().zip(now).map(|(before, now)| Worker {
        busy: now.busy.saturating_sub(before.busy),
        parks: now.parks.saturating_sub(before.parks),
    });
    Workers {
        elapsed: elapsed.as_nanos() as u64,
        each: each.collect(),
    }
}

impl Workers {
    /// The share of the time that each was at work, from 0 to 1; more by what a runtime adds up
    /// late.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        let elapsed = self.elapsed as f64;
        self.each
            .iter()
            .map(move |worker| worker.busy as f64 / elapsed)
    }

    /// How often all of them went to wait.
    pub fn parks(&self) -> u64 {
        self.each.iter().map(|worker| worker.parks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Two workers, of which the second does ten times as much; each reading finds more.
    #[derive(Debug, Default)]
    struct Busier(Arc<AtomicU64>);

    impl Counts for Busier {
        fn now(&self) -> Vec<Worker> {
            let all = self.0.fetch_add(7, Ordering::Relaxed);
            [1, 10]
                .map(|each| Worker {
                    busy: all * each,
                    parks: all,
                })
                .into()
        }
    }

    #[test]
    fn what_was_done_between_two_readings_is_told() {
        let mut watch = Watch::new(Box::new(Busier(Arc::new(AtomicU64::new(100)))));
        assert_eq!(watch.did(), None);
        watch.begin();
        watch.end();
        let did = watch.did().unwrap();
        assert_eq!(did.each.iter().map(|w| w.busy).collect::<Vec<_>>(), [7, 70]);
        assert_eq!(did.parks(), 14);
        // The end of the laps may be told twice.
        watch.end();
        assert_eq!(watch.did(), Some(did));
    }

    #[test]
    fn what_was_never_begun_is_not_told() {
        let mut watch = Watch::new(Box::new(Busier::default()));
        watch.end();
        assert_eq!(watch.did(), None);
    }

    #[test]
    fn a_share_is_of_the_whole_time() {
        let worker = |busy| Worker { busy, parks: 0 };
        let workers = Workers {
            elapsed: 200,
            each: vec![worker(100), worker(20)],
        };
        assert_eq!(workers.shares().collect::<Vec<_>>(), [0.5, 0.1]);
    }
}
