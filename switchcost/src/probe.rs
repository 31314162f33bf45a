//! What a program says of a command line before it is run: `--check-limits`.

use std::mem;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, anyhow};
use harness::limits::Demand;
use serde::{Deserialize, Serialize};

use crate::scratch;

/// The exit status of a program that was given flags it cannot follow.
const BAD_USAGE: i32 = 2;

/// What a program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The limits of this system allow it.
    Fits,
    /// They do not.
    TooMuch {
        /// How many tasks they allow.
        largest: u64,
        /// The limits that are too low.
        shortages: Vec<Shortage>,
    },
    /// The program has no such flag.
    NoFlag(String),
    /// The program does not take the flags for another reason.
    Refused(String),
}

/// A limit that is too low, as a program tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    /// The limit's name as people know it.
    pub name: String,
    /// What it bounds, such as `descriptors` or `memory`.
    pub resource: String,
    /// What is needed in all.
    pub needed: u64,
    /// What the limit allows.
    pub allowed: u64,
    /// The command that raises it; a shell comment where none does.
    pub remedy: String,
}

/// The part of the answer that is used here.
#[derive(Debug, Deserialize)]
struct Verdict {
    largest: u64,
    shortages: Vec<Shortage>,
}

/// Another part of it.
#[derive(Debug, Deserialize)]
struct Needs {
    demand: Demand,
}

/// Asks a program whether it could run with these flags. Nothing is measured.
///
/// # Errors
/// When it cannot be started.
pub fn ask(program: &Path, flags: &[String]) -> anyhow::Result<Answer> {
    let output = check_limits(program, flags)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    Ok(understand(output.status.code(), &output.stdout, &stderr))
}

/// Asks a program what it needs with its usual flags. Nothing is measured.
///
/// # Errors
/// When it cannot be started, or does not say.
pub fn demand(program: &Path) -> anyhow::Result<Demand> {
    let output = check_limits(program, &[])?;
    serde_json::from_slice(&output.stdout)
        .map(|Needs { demand }| demand)
        .map_err(|_| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let words = stderr.lines().map(str::trim).find(|line| !line.is_empty());
            let why = words.unwrap_or("it does not say what it needs");
            anyhow!("{} --check-limits: {why}", program.display())
        })
}

fn check_limits(program: &Path, flags: &[String]) -> anyhow::Result<Output> {
    Command::new(program)
        .args(flags)
        .args(["--check-limits", "--format", "json"])
        .stdin(scratch::no_input()?)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))
}

fn understand(status: Option<i32>, stdout: &[u8], stderr: &str) -> Answer {
    match serde_json::from_slice::<Verdict>(stdout) {
        Ok(verdict) if verdict.shortages.is_empty() => return Answer::Fits,
        Ok(Verdict { largest, shortages }) => return Answer::TooMuch { largest, shortages },
        Err(_) => {}
    }
    if status == Some(BAD_USAGE)
        && let Some(flag) = unknown_flag(stderr)
    {
        return Answer::NoFlag(flag.to_owned());
    }
    let words = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    Answer::Refused(words.unwrap_or("it does not say why").to_owned())
}

/// The flag that a command-line parser complains of, as clap and Go's flag package word it.
fn unknown_flag(stderr: &str) -> Option<&str> {
    if let Some((_, rest)) = stderr.split_once("unexpected argument '") {
        return rest.split('\'').next();
    }
    let (_, rest) = stderr.split_once("flag provided but not defined: ")?;
    rest.split_whitespace().next()
}

impl Answer {
    /// Whether two answers are of one kind. To a reader they are one then, and the answer for the
    /// smallest number is it: of limits, it names the one that binds first.
    pub fn alike(&self, other: &Answer) -> bool {
        mem::discriminant(self) == mem::discriminant(other)
    }

    /// Why the command line would not run, in a line; `None` where it would.
    pub fn reason(&self) -> Option<String> {
        match self {
            Answer::Fits => None,
            Answer::TooMuch { largest, shortages } => {
                let names: Vec<&str> = shortages.iter().map(|s| s.name.as_str()).collect();
                Some(format!(
                    "this system allows at most {largest} tasks ({})",
                    names.join("; ")
                ))
            }
            Answer::NoFlag(flag) => Some(format!("it has no flag {flag}")),
            Answer::Refused(reason) => Some(reason.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood() {
        let fits = br#"{"benchmark":"b","largest":9,"shortages":[],"tasks":1}"#;
        assert_eq!(understand(Some(0), fits, ""), Answer::Fits);
        let much =
            br#"{"benchmark":"b","largest":9,"tasks":10,"shortages":[{"allowed":20,"in_use":6,
            "name":"open files","needed":22,"needs_root":true,"note":null,"remedy":"ulimit",
            "resource":"descriptors","source":"/proc"}]}"#;
        let answer = understand(Some(1), much, "");
        assert_eq!(
            answer.reason().unwrap(),
            "this system allows at most 9 tasks (open files)"
        );
        let clap = "error: unexpected argument '--capacity' found\n\nUsage: b\n";
        assert_eq!(
            understand(Some(2), b"", clap),
            Answer::NoFlag("--capacity".to_owned())
        );
        let go = "flag provided but not defined: -capacity\nUsage of b:\n";
        assert_eq!(
            understand(Some(2), b"", go),
            Answer::NoFlag("-capacity".to_owned())
        );
        assert_eq!(
            understand(Some(2), b"", "\nb: --placement: no\n more").reason(),
            Some("b: --placement: no".to_owned())
        );
        assert_eq!(
            understand(None, b"", ""),
            Answer::Refused("it does not say why".to_owned())
        );
    }
}
