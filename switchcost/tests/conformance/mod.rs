//! Any program in any language, held to docs/CONTRACT.md.
//!
//! [`check`] knows nothing of the programs; the table at the end does.

mod alone;
mod answers;
mod ends;
pub(crate) mod programs;
mod refusals;
mod rest;
mod subject;

use std::fmt;

use self::subject::{Level, Subject};
use crate::support;

/// Why a check cannot be made here.
#[derive(Debug)]
pub(crate) struct Skipped(pub(crate) &'static str);

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Skipped {}

type Check = fn(&Subject) -> anyhow::Result<()>;

/// All checks, with the level that they belong to.
const CHECKS: &[(&str, Level, Check)] = &[
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
    ("names the cause of a fault", Level::Full, refusals::faults),
    ("ends at a signal when alone", Level::Full, ends::by_signal_alone),
    ("ends at a second signal", Level::Full, ends::by_second_signal),
    ("misses its output", Level::Full, ends::without_output),
    ("prints a result", Level::Full, alone::prints),
    ("obeys the common flags", Level::Full, alone::obeys_flags),
    ("runs a command", Level::Full, alone::runs_a_command),
];

/// Makes all checks of a program's level. Returns each that failed, with the reason.
pub(crate) fn check(subject: &Subject) -> Vec<String> {
    let due = CHECKS.iter().filter(|(_, level, _)| *level <= subject.level);
    let mut failures = Vec::new();
    for (name, _, check) in due {
        match check(subject) {
            Ok(()) => {}
            Err(e) if e.is::<Skipped>() => {
                support::skip(&format!("{} {name}: {e}", subject.name()))
            }
            Err(e) => failures.push(format!("{name}: {e:#}")),
        }
    }
    failures
}
