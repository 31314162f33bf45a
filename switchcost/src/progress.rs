//! A line on the terminal, drawn before a run begins and never while one measures.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::console::plain_line;
use terminal_size::{Width, terminal_size_of};

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
            terminal: io::stderr().is_terminal(),
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
        self.draw(&format!("round {} of {}{left}: {case}", round + 1, self.rounds,));
    }

    /// One more is done.
    pub(crate) fn advance(&mut self) {
        self.done += 1;
    }

    fn draw(&self, line: &str) {
        if self.terminal {
            draw(line);
        }
    }
}

/// Puts a line in the place of the terminal's last one.
pub(crate) fn draw(line: &str) {
    // A terminal that does not tell its size has the usual one.
    let columns = terminal_size_of(io::stderr()).map_or(80, |(Width(columns), _)| columns);
    let line = cut(line, usize::from(columns));
    // A terminal that has gone away is no reason to stop measuring.
    let _ = write!(io::stderr(), "\r\x1b[K{line}");
}

/// A line that does not wrap: some terminals do so behind the last column.
fn cut(line: &str, columns: usize) -> String {
    let line = plain_line(line);
    let width = columns.saturating_sub(1);
    match line.chars().count() > width {
        true if width > 0 => line.chars().take(width - 1).chain(['…']).collect(),
        true => String::new(),
        false => line.into_owned(),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.draw("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_no_wider_than_the_terminal() {
        for (line, columns, shown) in [
            ("round 1 of 2: a", 80, "round 1 of 2: a"),
            ("round 1 of 2: a", 16, "round 1 of 2: a"),
            ("round 1 of 2: a", 15, "round 1 of 2:…"),
            ("abc", 2, "…"),
            ("abc", 1, ""),
            ("abc", 0, ""),
            ("a\x1b[2J\nb", 80, "a\\u{1b}[2J\\nb"),
        ] {
            assert_eq!(cut(line, columns), shown, "{columns}");
        }
    }
}
