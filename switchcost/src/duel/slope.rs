//! Memory of a task: a slope over the number of tasks. Nothing of it takes turns in slices, so that a pair
//! is a line for each side, of fresh processes one at a time: both sides with the same number of tasks one
//! after the other.

use std::time::Duration;

use super::judge::Pair;
use super::pair::Stop;
use crate::executable::Executable;
use crate::execute::{self, Options};
use crate::plan::Case;
use crate::signals;

/// Task counts of a line. More pairs are worth more than more counts.
const COUNTS: usize = 5;

/// What pairs of lines are made of.
pub(super) struct Lines<'a> {
    /// The same row with different numbers of tasks.
    pub(super) cases: &'a [Case],
    /// The sides' programs with their names; both the first's for a twin.
    pub(super) sides: [(&'a str, &'a Executable); 2],
    pub(super) timeout: Duration,
}

/// The cases of as many task counts as a line has, from the fewest to the most.
pub(super) fn counts(mut cases: Vec<Case>) -> Vec<Case> {
    cases.sort_by_key(|case| case.x);
    let last = cases.len().saturating_sub(1);
    let is_kept = |at: usize| (0..COUNTS).any(|k| k * last / (COUNTS - 1) == at);
    let mut at = 0..;
    cases.retain(|_| at.next().is_some_and(is_kept));
    cases
}

impl Lines<'_> {
    /// Measures a pair.
    pub(super) fn measure(&self, rng: &mut fastrand::Rng) -> Result<Pair, Stop> {
        let mut order: Vec<&Case> = self.cases.iter().collect();
        rng.shuffle(&mut order);
        let mut tasks = Vec::new();
        let mut bytes = [Vec::new(), Vec::new()];
        for case in order {
            let is_first = rng.bool();
            for side in [usize::from(!is_first), usize::from(is_first)] {
                bytes[side].push(self.bytes(side, case)?);
            }
            tasks.push(case.x.unwrap_or_default() as f64);
        }
        let slope = |bytes: &[f64]| {
            let line = stats::fit_line(&tasks, bytes, 0.95);
            line.map(|line| line.slope.estimate)
                .ok_or_else(|| Stop::Failed("too few task counts for a slope".to_owned()))
        };
        let [first, second] = &bytes;
        Ok(Pair { memory: Some([slope(first)?, slope(second)?]), ..Pair::default() })
    }

    /// Resident memory of the process with all tasks at rest. The kernel's share is counted for the whole
    /// system alone, where others' work would hide a change.
    fn bytes(&self, side: usize, case: &Case) -> Result<f64, Stop> {
        let (side, program) = self.sides[side];
        let options =
            Options { timeout: self.timeout, keep_samples: false, counters: false, longest: None };
        let process = execute::run(program, case, &options);
        if signals::received().is_some() {
            return Err(Stop::Interrupted);
        }
        let failed = |why: &str| Stop::Failed(format!("{side}: {why}"));
        if let Some(error) = &process.error {
            return Err(failed(error));
        }
        let resident = process.resident_gain().map(|bytes| bytes as f64);
        resident.ok_or_else(|| failed("its memory is unknown: see /proc/PID/smaps_rollup"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn a_line_has_both_ends_and_what_is_between() {
        let plan = Plan::memory().unwrap();
        let name = |case: &Case| case.cell.name() == "bare thread";
        let cases: Vec<Case> = plan.cases(false).into_iter().filter(name).collect();
        let tasks: Vec<_> = counts(cases).iter().filter_map(|case| case.x).collect();
        assert_eq!(tasks, [200, 450, 950, 1450, 2000]);
    }
}
