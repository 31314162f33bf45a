//! A line on the terminal, drawn before a run begins and never while one measures.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How far the runs of a plan are.
pub(crate) struct Progress {
    terminal: bool,
    begun: Instant,
    rounds: u32,
    done: usize,
    all: usize,
}

impl Progress {
    /// Of `all` runs, in rounds up to `rounds`, none is done.
    pub(crate) fn new(all: usize, rounds: u32) -> Self {
        Progress {
            terminal: std::io::stderr().is_terminal(),
            begun: Instant::now(),
            rounds,
            done: 0,
            all,
        }
    }

    /// Says which case is run next.
    pub(crate) fn show(&self, round: u32, case: &str) {
        let left = match self.done {
            0 => String::new(),
            done => {
                let each = self.begun.elapsed().as_secs_f64() / done as f64;
                let left = Duration::from_secs_f64(each * (self.all - done) as f64);
                format!(", about {} s left", left.as_secs() + 1)
            }
        };
        self.draw(&format!(
            "round {} of {}{left}: {case}",
            round + 1,
            self.rounds,
        ));
    }

    /// One more is done.
    pub(crate) fn advance(&mut self) {
        self.done += 1;
    }

    fn draw(&self, line: &str) {
        if self.terminal {
            // A terminal that has gone away is no reason to stop measuring.
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.draw("");
    }
}
