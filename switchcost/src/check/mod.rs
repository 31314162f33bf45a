//! Any program in any language, held to docs/CONTRACT.md.

use std::fmt;

use serde::Serialize;

use self::candidate::TASKS;
pub use self::candidate::{Candidate, Level, Start};
pub use self::run::{Exit, Live, threads};

mod alone;
mod answers;
mod candidate;
mod ends;
mod refusals;
mod rest;
mod run;

/// Reason why a check cannot be made.
#[derive(Debug)]
struct Skipped(String);

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skipped {}

fn skipped(why: impl Into<String>) -> anyhow::Error {
    Skipped(why.into()).into()
}

type Check = (&'static str, Level, fn(&Candidate) -> anyhow::Result<()>);

/// All checks, with the level that they belong to.
const CHECKS: &[Check] = &[
    ("describes itself", Level::Core, answers::describes),
    ("answers requests", Level::Core, answers::answers),
    ("measures the most samples", Level::Core, answers::most_samples),
    ("runs without a warm-up", Level::Core, answers::without_warmup),
    ("refuses other requests", Level::Core, answers::refuses),
    ("takes requests in pieces", Level::Core, answers::takes_pieces),
    ("keeps its claim", Level::Core, answers::keeps_its_claim),
    ("rests while held", Level::Core, rest::rests),
    ("needs what it says", Level::Core, rest::needs),
    ("ends at the end of file", Level::Core, ends::by_end_of_file),
    ("ends at a signal", Level::Core, ends::by_signal),
    ("ends without its runner", Level::Core, ends::without_runner),
    ("refuses bad flags", Level::Core, refusals::bad_flags),
    ("names a low descriptor limit", Level::Full, refusals::few_descriptors),
    ("names a low process limit", Level::Full, refusals::few_processes),
    ("ends at a signal when alone", Level::Full, ends::by_signal_alone),
    ("misses its output", Level::Full, ends::without_output),
    ("prints a result", Level::Full, alone::prints),
    ("obeys the common flags", Level::Full, alone::obeys_flags),
    ("runs a command", Level::Full, alone::runs_a_command),
];

/// Checks of a program with a hidden flag `--test-fault`.
const OF_FAULTS: &[Check] = &[
    ("names the cause of a fault", Level::Full, refusals::faults),
    ("ends at a second signal", Level::Full, ends::by_second_signal),
];

/// A check that was made, or could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Name of the check.
    pub check: &'static str,
    /// Result of the check.
    #[serde(flatten)]
    pub result: Conformity,
}

/// Result of a check, with the reason where it did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", content = "reason", rename_all = "lowercase")]
pub enum Conformity {
    /// The program does what the contract asks for.
    Passed,
    /// It does not.
    Failed(String),
    /// The check cannot be made of this program, or here.
    Skipped(String),
}

/// Makes the checks of a program's level, one with each step.
pub fn check(candidate: &Candidate) -> impl Iterator<Item = Checked> {
    let faults = if candidate.faults.is_empty() { &[] } else { OF_FAULTS };
    let due = CHECKS.iter().chain(faults).filter(|(_, level, _)| *level <= candidate.level);
    let mut is_described = true;
    due.map(move |&(name, _, check)| {
        let result = match is_described {
            true => check(candidate),
            false => Err(skipped("it is not known what the program describes")),
        };
        let result = match result {
            Ok(()) => Conformity::Passed,
            Err(e) if e.is::<Skipped>() => Conformity::Skipped(e.to_string()),
            Err(e) => {
                // The others would fail for this reason, and each after as long a wait.
                is_described = is_described && candidate.description(TASKS).is_ok();
                Conformity::Failed(format!("{e:#}").trim_end().to_owned())
            }
        };
        Checked { check: name, result }
    })
}
