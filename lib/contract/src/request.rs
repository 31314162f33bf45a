//! The lines that a runner writes.

use std::fmt;

/// Most timed iterations in one `run`: their room is allocated before `ready`.
pub const MOST_SAMPLES: u64 = 10_000;

/// One line that a runner writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Time so many iterations of a pass; `None` is the main one.
    Run(u64, Option<String>),
    /// Rest with all tasks alive.
    Hold,
    /// Take everything down.
    End,
}

impl Request {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["run", n, ..] if words.len() <= 3 => {
                let n = n.parse().ok().filter(|n| (1..=MOST_SAMPLES).contains(n));
                n.map(|n| Request::Run(n, words.get(2).map(|&pass| pass.to_owned())))
            }
            ["hold"] => Some(Request::Hold),
            ["end"] => Some(Request::End),
            _ => None,
        }
        .ok_or_else(|| {
            let line: String = line.trim_end().chars().take(80).collect();
            format!(
                "cannot follow '{}': write run N [PASS], with N from 1 to {MOST_SAMPLES}, hold or end",
                line.escape_debug()
            )
        })
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Request::Run(n, None) => write!(f, "run {n}"),
            Request::Run(n, Some(pass)) => write!(f, "run {n} {pass}"),
            Request::Hold => f.write_str("hold"),
            Request::End => f.write_str("end"),
        }
    }
}
