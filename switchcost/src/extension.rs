//! The single planned extension: how many more rounds a pilot asks for, and what the time allows.

use std::collections::HashSet;
use std::time::Duration;

use record::Record;

use crate::CONFIDENCE;
use crate::cases::{Cases, Reading};
use crate::plan::Case;

/// How precise an estimate is to be, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Half of the interval's width over the mean.
    pub target: f64,
    /// Time for the whole run.
    pub budget: Duration,
}

/// How fast runs went.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many.
    pub runs: usize,
    /// In what time.
    pub time: Duration,
}

/// The records of those of these cases that may be extended.
pub fn extensible(records: &[Record], cases: &[Case]) -> Vec<Record> {
    let names = cases.iter().filter(|case| case.extensible).map(|case| case.index);
    let names: HashSet<u32> = names.collect();
    let is_of = |record: &&Record| names.contains(&record.case);
    records.iter().filter(is_of).cloned().collect()
}

/// How many rounds of `cases` cases there are to be in all, after a pilot of `pilot` rounds.
///
/// Each case asks for `n = (t · s / (target · mean))²` rounds; all cases get as many as the most
/// demanding one asks for, so that differences and ratios stay paired. A case with two modes asks
/// for none: more rounds would not turn two values into one. Where no run was made at this pace,
/// nothing is known of what more would take, and there are none.
pub fn rounds(records: &[Record], pilot: u32, cases: usize, pace: Pace, goal: Goal) -> u32 {
    // By the pilot alone: to look again at what came after it would be to stop when it pleases.
    let of_pilot = |r: &&Record| r.round < pilot;
    let of_pilot: Vec<Record> = records.iter().filter(of_pilot).cloned().collect();
    let wanted = timed(&of_pilot)
        .into_iter()
        .filter(|(_, reading)| reading.modes.is_none())
        .map(|(_, reading)| stats::planned_rounds(&reading.means, goal.target, CONFIDENCE))
        .max()
        .unwrap_or(0);
    if pace.runs == 0 {
        return pilot;
    }
    let each = pace.time.as_secs_f64() / pace.runs as f64 * cases as f64;
    let left = goal.budget.saturating_sub(pace.time).as_secs_f64();
    let affordable = f64::from(pilot) + (left / each).floor().max(0.0);
    (wanted as f64).min(affordable).max(f64::from(pilot)) as u32
}

/// How many rounds these records are of.
pub fn decided(records: &[Record]) -> u32 {
    records.iter().map(|record| record.round.saturating_add(1)).max().unwrap_or(0)
}

/// The cases that miss the target, with the half width that they have reached.
pub fn missed(records: &[Record], target: f64) -> Vec<(String, f64)> {
    timed(records)
        .into_iter()
        .filter_map(|(name, reading)| {
            let reached = reading.mean.interval?.relative_half_width()?;
            (reached > target).then_some((name, reached))
        })
        .collect()
}

/// The cases whose figure is estimated from rounds, each by its section's own metric.
fn timed(records: &[Record]) -> Vec<(String, Reading)> {
    let cases = Cases::of(records);
    cases
        .in_order()
        .into_iter()
        .filter(|(_, runs)| !runs.view.metric.is_slope() && !runs.view.further)
        .filter_map(|(key, _)| Some((key.name(), cases.reading(key)?)))
        .collect()
}
