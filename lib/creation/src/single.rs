//! Times of single spawns, taken in a pass of their own: a clock reading takes some 20 ns.

use std::time::{Duration, Instant};

use contract::message::{Extra, PassKind};
use contract::samples::Recorder;

/// Duration of each spawn, and the delay from its call to the first instruction of the task.
#[derive(Debug)]
pub struct SpawnTimes {
    calls: Vec<u64>,
    is_timed: bool,
    creation: Recorder,
    to_body: Recorder,
}

impl SpawnTimes {
    /// Name of the pass that takes them.
    pub const PASS: &str = "single";

    /// The pass that takes them.
    pub fn pass() -> PassKind {
        PassKind { name: Self::PASS.to_owned(), ..PassKind::main() }
    }

    /// Times of iterations with so many spawns each.
    pub fn new(tasks: u32) -> Self {
        SpawnTimes {
            calls: Vec::with_capacity(tasks as usize),
            is_timed: false,
            creation: Recorder::default(),
            to_body: Recorder::default(),
        }
    }

    /// Begins an iteration; the times of one that is not timed are dropped.
    pub fn begin(&mut self, is_timed: bool) {
        self.calls.clear();
        self.is_timed = is_timed;
    }

    /// Takes the spawn that was called at `called` and has just returned; the next one is called now.
    #[inline]
    pub fn returned(&mut self, called: Instant) -> Instant {
        let now = Instant::now();
        self.calls.push(nanos(now - called));
        now
    }

    /// Takes the delays from the calls to the first instructions, outside the timed span.
    pub fn end(&mut self, to_body: impl IntoIterator<Item = Duration>) {
        if self.is_timed {
            self.calls.drain(..).for_each(|ns| self.creation.record(ns));
            let delays = to_body.into_iter().map(nanos);
            delays.for_each(|ns| self.to_body.record(ns));
        }
    }

    /// Adds both distributions.
    pub fn add_to(&self, extra: &mut Extra) {
        for (name, recorder) in [("creation", &self.creation), ("spawn_to_body", &self.to_body)] {
            if let Some(distribution) = recorder.distribution() {
                extra.insert(name.to_owned(), distribution);
            }
        }
    }
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
