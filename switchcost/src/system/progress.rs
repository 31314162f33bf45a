//! A line on the terminal, drawn before a run begins and never while one measures.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::system::console::plain_line;
use terminal_size::{Width, terminal_size_of};

/// How far the runs of a plan are.
pub(crate) struct Progress {
    terminal: bool,
    begun: Instant,
    /// Number of rounds, where it is known.
    rounds: Option<u32>,
    done: usize,
    end: End,
}

/// What tells how much is left.
enum End {
    /// So many runs in all.
    Runs(usize),
    /// The clock.
    At(Instant),
}

impl Progress {
    /// Of `all` runs, in rounds up to `rounds`, none is done.
    pub(crate) fn new(all: usize, rounds: u32) -> Self {
        Progress::with(Some(rounds), End::Runs(all))
    }

    /// Of rounds that go on until then.
    pub(crate) fn until(end: Instant) -> Self {
        Progress::with(None, End::At(end))
    }

    fn with(rounds: Option<u32>, end: End) -> Self {
        let terminal = io::stderr().is_terminal();
        Progress { terminal, begun: Instant::now(), rounds, done: 0, end }
    }

    /// Says which case is run next.
    pub(crate) fn show(&self, round: u32, case: &str) {
        let left = match self.end {
            End::Runs(_) if self.done == 0 => None,
            End::Runs(all) => {
                let each = self.begun.elapsed().as_secs_f64() / self.done as f64;
                Some(Duration::from_secs_f64(each * all.saturating_sub(self.done) as f64))
            }
            End::At(end) => Some(end.saturating_duration_since(Instant::now())),
        };
        let left =
            left.map_or(String::new(), |left| format!(", about {} s left", left.as_secs() + 1));
        let of = self.rounds.map_or(String::new(), |rounds| format!(" of {rounds}"));
        self.draw(&format!("round {}{of}{left}: {case}", round + 1));
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
