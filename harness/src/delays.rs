//! The two distributions that a creation benchmark takes besides its laps.

use std::time::{Duration, Instant};

use crate::args::Run;
use crate::recorder::Recorder;
use crate::{Session, signals};

/// How long each call took, and how long after it the body began.
#[derive(Debug)]
pub struct Delays {
    left: u64,
    calls: Vec<Duration>,
    creation: Recorder,
    to_body: Recorder,
}

impl Delays {
    /// As many rounds as `run` has iterations.
    pub fn new(run: &Run) -> Self {
        let samples = run.iters.saturating_mul(u64::from(run.tasks));
        Delays {
            left: run.iters,
            calls: Vec::with_capacity(run.tasks as usize),
            creation: Recorder::new(samples),
            to_body: Recorder::new(samples),
        }
    }

    /// Whether there is another round.
    pub fn advance(&mut self) -> bool {
        for call in self.calls.drain(..) {
            self.creation.record(call);
        }
        let more = self.left > 0 && signals::received().is_none();
        self.left = self.left.saturating_sub(1);
        more
    }

    /// Takes the call that began at `called` and has just returned; the next one begins now.
    pub fn returned(&mut self, called: Instant) -> Instant {
        let now = Instant::now();
        self.calls.push(now - called);
        now
    }

    /// Takes the time from a call to the first instruction of the body that it created.
    pub fn began(&mut self, to_body: Duration) {
        self.to_body.record(to_body);
    }

    /// Gives both distributions to the session.
    pub fn report(&self, session: &mut Session) {
        session.distribution("creation", &self.creation);
        session.distribution("spawn_to_body", &self.to_body);
    }
}
