//! Time limit of a program, and the steps that end it: SIGTERM when its time is up or the runner is interrupted, then
//! SIGKILL.

use std::io;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);

/// Signals that ask a program to end. A stopped program does not notice any other signal.
const ASK: &[Signal] = &[Signal::SIGTERM, Signal::SIGCONT];

#[derive(Debug)]
pub(crate) struct Patience {
    pub(super) limit: Duration,
    deadline: Instant,
    /// It was asked to end: by SIGTERM, or by the end of its input when the runner has no more questions.
    pub(super) is_asked: bool,
    /// It was asked since its time was up.
    is_overdue: bool,
    is_killed: bool,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        let deadline = Instant::now() + limit;
        Patience { limit, deadline, is_asked: false, is_overdue: false, is_killed: false }
    }

    /// Gives it the whole time limit again, since it waits for nobody while others have their turns; false if it is
    /// ended already.
    pub(super) fn renew(&mut self) -> bool {
        if !self.is_asked {
            self.deadline = Instant::now() + self.limit;
        }
        !self.is_asked
    }

    /// Whether it took longer than it may, and was asked to end.
    pub(crate) fn is_overdue(&self) -> bool {
        self.is_overdue
    }

    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Signals that are due now, after so many requests to stop.
    pub(crate) fn press(&mut self, requests: u32) -> io::Result<&'static [Signal]> {
        let is_late = self.left().is_zero();
        if is_late && self.is_killed {
            return Err(io::Error::other("SIGKILL did not end it: it is stuck in the kernel"));
        }
        if self.is_killed || !is_late && (requests == 0 || requests == 1 && self.is_asked) {
            return Ok(&[]);
        }
        self.deadline = Instant::now() + GRACE;
        if !self.is_asked && requests < 2 {
            (self.is_asked, self.is_overdue) = (true, requests == 0);
            return Ok(ASK);
        }
        self.is_killed = true;
        Ok(&[Signal::SIGKILL])
    }

    /// Leaves it a while to end for a reason of the runner's own, unless it is ended already.
    pub(super) fn give_up(&mut self) {
        if !self.is_asked {
            self.is_asked = true;
            self.deadline = self.deadline.min(Instant::now() + GRACE);
        }
    }

    /// Error of a program that took longer than it may for what is awaited.
    pub(crate) fn timeout(&self, awaited: &str) -> String {
        let end = if self.is_killed {
            format!("nor did it end within {GRACE:?} after SIGTERM, so it was killed")
        } else {
            "so it was ended by SIGTERM".to_owned()
        };
        format!("timed out: {awaited} did not come within {:?} (--timeout), {end}", self.limit)
    }
}
