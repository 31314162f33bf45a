//! Times of single spawns, taken in a pass of their own: a clock reading takes some 20 ns.

use std::time::{Duration, Instant};

use contract::Pass;
use contract::message::PassKind;
use contract::samples::Recorder;

/// Duration of each spawn, and the delay from its call to the first instruction of the task.
#[derive(Debug)]
pub struct SpawnTimes {
    /// Of this iteration, in ns.
    calls: Vec<u64>,
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
            creation: Recorder::default(),
            to_body: Recorder::default(),
        }
    }

    /// Takes the spawn that was called at `called` and has just returned; the next one is called now.
    #[inline]
    pub fn returned(&mut self, called: Instant) -> Instant {
        let now = Instant::now();
        self.calls.push(nanos(now - called));
        now
    }

    /// Takes the delay from a call to the first instruction, outside the timed span.
    pub fn started(&mut self, pass: &Pass, delay: Duration) {
        if pass.is_timed() {
            self.to_body.record(nanos(delay));
        }
    }

    /// Ends an iteration; the times of one that is not timed are dropped.
    pub fn end(&mut self, pass: &Pass) {
        for ns in self.calls.drain(..).filter(|_| pass.is_timed()) {
            self.creation.record(ns);
        }
    }

    /// Adds both distributions to the pass.
    pub fn add_to(&self, pass: &mut Pass) {
        pass.add_extra("creation", &self.creation);
        pass.add_extra("creation_to_body", &self.to_body);
    }
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
