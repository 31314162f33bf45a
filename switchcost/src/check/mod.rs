//! Checks a program in any language against docs/CONTRACT.md.

use record::Why;

use crate::measure::child::Ended;

pub use self::candidate::Candidate;
use self::candidate::TASKS;

mod candidate;
mod declared;
mod ends;
mod refusals;
mod requests;
mod rest;

/// A check; of a program that passes, it may have what that declares, beside what was measured.
type Check = fn(&Candidate) -> anyhow::Result<Option<String>>;

/// All checks by name. The others need a program that answers in the first two.
const CHECKS: &[(&str, Check)] = &[
    ("describes itself", requests::describes),
    ("answers requests", requests::answers),
    ("measures the most samples", requests::most_samples),
    ("takes requests in pieces", requests::takes_pieces),
    ("keeps its claim", declared::claim),
    ("times what it does", declared::samples),
    ("settles after a wait", declared::settling),
    ("rests while held", rest::rests),
    ("needs what it says", declared::needs),
    ("ends at the end of file", ends::by_end_of_file),
    ("ends at a signal", ends::by_signal),
    ("ends without its runner", ends::without_runner),
    ("refuses other requests", refusals::requests),
    ("refuses bad flags", refusals::flags),
];

/// Makes the wanted checks, one per step: its name, and what came of it.
pub fn check(
    candidate: &Candidate,
    is_wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (&'static str, Result<Option<String>, Why>)> {
    // The others would fail for this reason, and each after as long a wait.
    let mut unanswered = None;
    let wanted = CHECKS.iter().enumerate().filter(move |(_, (name, _))| is_wanted(name));
    wanted.map(move |(place, &(name, check))| {
        if let Some(why) = unanswered {
            return (name, Err(Why::LeftOut(str::to_owned(why))));
        }
        let outcome = check(candidate).map_err(|e| {
            if let Some(why) = e.downcast_ref::<Why>() {
                return why.clone();
            }
            let is_late = e.downcast_ref::<Ended>().is_some_and(|ended| ended.is_overdue);
            if place < 2 && is_late {
                unanswered = Some("it does not answer");
            } else if candidate.description(TASKS).is_err() {
                unanswered = Some("the program does not describe itself");
            }
            let hint = if is_late { " (is each line flushed?)" } else { "" };
            Why::Failed(format!("{}{hint}", format!("{e:#}").trim_end()))
        });
        (name, outcome)
    })
}
