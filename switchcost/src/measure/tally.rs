//! What the slices of a program came to, and how much of all its work they are.

use std::time::Duration;

use contract::message::{Runs, Usage};
use record::Thirds;

/// What the slices of a program came to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) samples: Vec<u64>,
    /// Numbers of samples before each of its turns.
    pub(super) turn_starts: Vec<usize>,
    /// Iterations that were not timed, at most.
    pub(super) untimed: u64,
    /// What it said that it used.
    pub(super) used: Option<Usage>,
    /// What runs of a command left.
    pub(super) runs: Runs,
    /// Time of all its requests, settling and answers included.
    pub(super) asked: Duration,
}

impl Tally {
    pub(super) fn add(&mut self, samples: Vec<u64>, usage: Option<Usage>) {
        self.used = if self.samples.is_empty() {
            usage
        } else {
            self.used.zip(usage).map(|(sum, more)| sum.with(more, u64::saturating_add))
        };
        self.samples.extend(samples);
    }

    pub(super) fn thirds(&self) -> Option<Thirds> {
        let ends = self.turn_starts.iter().skip(1).copied().chain([self.samples.len()]);
        let turns = self.turn_starts.iter().zip(ends);
        Thirds::of(turns.map(|(&start, end)| &self.samples[start..end]))
    }

    /// Shares of the CPU time and of the counts of all requests that timed iterations have. The rest is settling, and the
    /// time between the slices, in which a program takes CPU time but hardly switches. So counts follow the iterations,
    /// unless a slow one ended the settling.
    pub(super) fn timed(&self, is_open_loop: bool) -> (f64, f64) {
        let timed = Duration::from_nanos(self.samples.iter().sum()).as_secs_f64();
        let iterations = self.samples.len() as f64;
        let iterated = iterations / (iterations + self.untimed as f64);
        // A sample of an open loop is CPU time.
        if is_open_loop {
            return (iterated, iterated);
        }
        let time = (timed / self.asked.as_secs_f64().max(1e-9)).min(1.0);
        (time, time.max(iterated))
    }
}
