//! How far work is: a line on the terminal, drawn before a run begins and never while one measures.

use std::io;
use std::time::Instant;

use crate::system::console::{obeys_escapes, plain_line};
use crate::system::write;
use terminal_size::{Width, terminal_size_of};

/// Progress of the runs of a plan, in a line that is cleared when it is dropped.
pub(crate) struct Progress {
    begun: Instant,
    left: Left,
    done: usize,
}

/// What is left to do.
enum Left {
    /// Runs and rounds in all.
    Runs(usize, u32),
    /// Rounds until then.
    Until(Instant),
}

impl Progress {
    /// Of `runs` in at most `rounds`.
    pub(crate) fn new(runs: usize, rounds: u32) -> Self {
        Progress { begun: Instant::now(), left: Left::Runs(runs, rounds), done: 0 }
    }

    /// Of rounds until `end`.
    pub(crate) fn until(end: Instant) -> Self {
        Progress { begun: Instant::now(), left: Left::Until(end), done: 0 }
    }

    /// Says which case is run next.
    pub(crate) fn show(&self, round: u32, case: &str) {
        let (of, left) = match self.left {
            Left::Runs(runs, rounds) => {
                let each = self.begun.elapsed().as_secs_f64() / self.done as f64;
                let left = each * runs.saturating_sub(self.done) as f64;
                (format!(" of {rounds}"), (self.done > 0).then_some(left as u64))
            }
            Left::Until(end) => {
                let left = end.saturating_duration_since(Instant::now());
                (String::new(), Some(left.as_secs()))
            }
        };
        let left = left.map_or(String::new(), |left| format!(", about {} s left", left + 1));
        draw(&format!("round {}{of}{left}: {case}", round + 1));
    }

    /// One more is done.
    pub(crate) fn advance(&mut self) {
        self.done += 1;
    }
}

/// Replaces the last line of the terminal on standard error, if it is one.
pub(crate) fn draw(line: &str) {
    if !obeys_escapes(&io::stderr()) {
        return;
    }
    // A terminal that does not tell its size has the usual one.
    let columns = terminal_size_of(io::stderr()).map_or(80, |(Width(columns), _)| columns);
    let line = cut(line, usize::from(columns));
    // A terminal that has gone away is no reason to stop measuring.
    let _ = write::all(io::stderr(), format!("\r\x1b[K{line}").as_bytes());
}

/// A line that does not wrap: some terminals do so behind the last column.
fn cut(line: &str, columns: usize) -> String {
    let line = plain_line(line);
    let width = columns.saturating_sub(1);
    if line.chars().count() <= width {
        return line.into_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).take(width).collect()
}

impl Drop for Progress {
    fn drop(&mut self) {
        draw("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_no_wider_than_the_terminal() {
        let line = "round 1 of 2: a";
        for (line, columns, shown) in [
            (line, 16, line),
            (line, 15, "round 1 of 2:…"),
            ("abc", 2, "…"),
            ("abc", 0, ""),
            ("a\x1b[2J\nb", 80, "a\\u001b[2J\\nb"),
        ] {
            assert_eq!(cut(line, columns), shown, "{columns}");
        }
    }
}
