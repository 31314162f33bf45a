//! One pass: what becomes a sample. The loop stays in the program, as in examples/rendezvous-brigade.rs: it reads the
//! clock around nothing but the work, and hands the time to [`Pass::record`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::message::{Extra, MOST_SAMPLES, Runs, Usage};
use crate::samples::Recorder;
use host::signals;
use nix::sys::resource::UsageWho;

/// Iterations in a row: untimed ones first, then timed ones.
#[derive(Debug, Default)]
pub struct Pass {
    /// Name that was asked for; `None` for the warm-up, and for a program alone.
    pub(crate) name: Option<String>,
    /// Number of iterations begun in the run.
    iterations: Arc<AtomicU64>,
    pub(crate) untimed: u64,
    /// Time at which the untimed iterations end, even if some are left.
    pub(crate) until: Option<Instant>,
    pub(crate) timed: u64,
    is_timed: bool,
    /// For a runner: each sample, in ns.
    pub(crate) samples_ns: Vec<u64>,
    /// For a person: any number of samples, summed up.
    pub(crate) recorder: Option<Box<Recorder>>,
    pub(crate) first: Option<Duration>,
    /// True if this process itself does the work, so that its usage is the work's.
    has_usage: bool,
    before: Option<Usage>,
    pub(crate) usage: Option<Usage>,
    /// Distributions that were measured beside the iterations.
    pub(crate) extra: Extra,
    pub(crate) runs: Option<Runs>,
}

impl Pass {
    /// A pass of a run that has begun so many iterations. The memory of the samples is touched here.
    pub(crate) fn new(iterations: Arc<AtomicU64>, has_usage: bool, is_controlled: bool) -> Self {
        let mut pass = Pass { iterations, has_usage, ..Pass::default() };
        if is_controlled {
            pass.samples_ns = vec![u64::MAX; MOST_SAMPLES as usize];
            pass.samples_ns.clear();
        } else {
            pass.recorder = Some(Box::default());
        }
        pass
    }

    /// True if it is the pass of this name.
    pub fn is(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }

    /// Number of the next iteration, counted over all passes; `None` after the last one, or at a
    /// signal. The usage of the process is read before the first timed one and after the last.
    #[must_use]
    pub fn next_iteration(&mut self) -> Option<u64> {
        let settling = self.untimed > 0 && self.until.is_none_or(|until| Instant::now() < until);
        if signals::received().is_some() || (!settling && self.timed == 0) {
            if let (Some(before), Some(now)) = (self.before.take(), own_usage()) {
                self.usage = Some(now.since(before));
            }
            return None;
        }
        if settling {
            self.untimed -= 1;
        } else {
            self.untimed = 0;
            self.timed -= 1;
            if !self.is_timed {
                self.is_timed = true;
                self.before = self.has_usage.then(own_usage).flatten();
            }
        }
        Some(self.iterations.fetch_add(1, Ordering::Relaxed))
    }

    /// Adds a distribution that was measured beside the iterations, if there are samples of it.
    pub fn add_extra(&mut self, name: &str, samples: &Recorder) {
        let distribution = samples.distribution();
        self.extra.extend(distribution.map(|distribution| (name.to_owned(), distribution)));
    }

    /// Adds a run of a command to the iteration begun last, or drops it if that iteration is untimed.
    pub fn add_run(&mut self, usage: Usage, runs: Runs) {
        if self.is_timed {
            self.usage = Some(match self.usage {
                Some(sum) => sum.with(usage, u64::saturating_add),
                None => usage,
            });
            self.runs.get_or_insert_default().add(runs);
        }
    }

    /// Iterations that are left, untimed ones among them; a signal may end the pass before.
    pub fn left(&self) -> u64 {
        self.untimed + self.timed
    }

    /// True if the iteration begun last is a sample.
    pub fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Records the time of the iteration begun last, or drops it if that iteration is untimed.
    pub fn record(&mut self, elapsed: Duration) {
        self.first.get_or_insert(elapsed);
        if self.is_timed {
            let ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
            match &mut self.recorder {
                Some(recorder) => recorder.record(ns),
                None => self.samples_ns.push(ns),
            }
        }
    }
}

fn own_usage() -> Option<Usage> {
    Usage::now(UsageWho::RUSAGE_SELF)
}
