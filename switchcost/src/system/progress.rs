//! How far work is: a line on the terminal, drawn before a run begins and never while one measures.

use std::env;
use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use crate::system::console::{in_locale, plain_line};
use crate::system::{signals, write};
use terminal_size::{Width, terminal_size_of};

/// Progress of the rounds of a plan, in a line that is cleared when it is dropped.
pub(crate) struct Progress {
    /// Number of rounds, unless they fill a budget.
    pub(crate) rounds: Option<u32>,
    /// When they end, as far as it is known.
    pub(crate) end: Option<Instant>,
}

impl Progress {
    /// Says which row is run next.
    pub(crate) fn show(&self, round: u32, row: &str) {
        let rounds = self.rounds.map_or(String::new(), |rounds| format!(" of {rounds}"));
        let left = self.end.map_or(String::new(), |end| {
            let left = end.saturating_duration_since(Instant::now()).as_secs() + 1;
            format!(", about {left} s left")
        });
        draw(&format!("round {}{rounds}{left}: {row}", round + 1));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        draw("");
    }
}

/// Steps of a wait: a signal ends it within one.
const STEP: Duration = Duration::from_millis(200);

/// Waits until then, and says for what; false if a signal came first.
pub(crate) fn wait(event: &str, until: Instant) -> bool {
    let mut shown = None;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || signals::received().is_some() {
            draw("");
            return signals::received().is_none();
        }
        let seconds = left.as_secs() + 1;
        if shown.replace(seconds) != Some(seconds) {
            draw(&format!("{event} begins in {seconds} s"));
        }
        thread::sleep(STEP.min(left));
    }
}

/// Replaces the last line of the terminal on standard error, if it is one that obeys escape sequences.
pub(crate) fn draw(line: &str) {
    if !io::stderr().is_terminal() || env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return;
    }
    // A terminal that does not tell its size has the usual one; some wrap behind the last column.
    let columns = terminal_size_of(io::stderr()).map_or(80, |(Width(columns), _)| columns);
    let line = plain_line(line);
    let line = in_locale(&line);
    let line: String = line.chars().take(usize::from(columns).saturating_sub(1)).collect();
    // A terminal that has gone away is no reason to stop measuring.
    let _ = write::whole(io::stderr(), format!("\r\x1b[K{line}").as_bytes());
}
