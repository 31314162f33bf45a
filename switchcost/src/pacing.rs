//! A budget of time shared by cases: how many iterations each process runs, so that enough rounds fit.
//!
//! The sizes come from the first round alone, and the clock decides how many rounds there are. The spread
//! between processes decides nothing: an interval that decides when to stop is too narrow.

use std::time::Duration;

use record::Process;

use crate::plan::Case;

/// Rounds that must fit: an interval needs as many.
pub const ROUNDS: u32 = stats::MIN_ROUNDS as u32;

/// Standard error of the mean inside a process that is small enough, as a share of the mean: processes
/// differ by more, and only further processes average that out.
const PRECISION: f64 = 0.01;

/// Fewest iterations of a process.
const FEWEST: u64 = 10;

/// Time of one process in the first round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Seconds of the whole process.
    pub whole: f64,
    /// Iterations that it timed.
    pub iterations: u64,
    /// Mean of one in seconds.
    pub mean: f64,
    /// Their standard deviation as a share of the mean.
    pub spread: f64,
}

impl Cost {
    /// Cost of a process that took so long.
    pub fn of(process: &Process, whole: Duration) -> Self {
        let whole = whole.as_secs_f64();
        match process.samples.as_ref().filter(|samples| samples.mean > 0.0) {
            Some(samples) => Cost {
                whole,
                iterations: samples.count,
                mean: samples.mean / 1e9,
                spread: samples.stddev / samples.mean,
            },
            None => Cost { whole, iterations: 0, mean: 0.0, spread: 0.0 },
        }
    }

    /// Seconds besides the iterations.
    fn fixed(&self) -> f64 {
        (self.whole - self.iterations as f64 * self.mean).max(0.0)
    }

    /// Iterations that are worth their time.
    fn wanted(&self, most: u64) -> u64 {
        let wanted = (self.spread / PRECISION).powi(2).ceil() as u64;
        wanted.max(FEWEST).min(most)
    }
}

/// Time that a process took at least: set-up, timed iterations and teardown.
pub fn least(process: &Process) -> Duration {
    let timed = process.samples.as_ref().map_or(0.0, |s| s.mean * s.count as f64);
    let known = [process.setup_ns, process.teardown_ns].into_iter().flatten().sum::<u64>();
    Duration::from_nanos(known + timed as u64)
}

/// Longest that one process may take for its iterations in the first round.
pub fn longest(budget: Duration, cases: usize) -> Duration {
    budget / (2 * ROUNDS) / cases.max(1) as u32
}

/// Share of the time that is left which a single case may take.
const LARGEST_SHARE: f64 = 0.5;

/// Sizes the cases so that the rounds that are left fit into the time that is left; `costs` are those of
/// the first round, in the cases' order. Returns the names of the cases of which a single one would take
/// most of that time: they are removed. All others stay, even where the sum is too much: a host that was
/// busy in the first round seldom stays so.
pub fn fit(cases: &mut Vec<Case>, costs: &[Cost], left: Duration) -> Vec<String> {
    let left = left.as_secs_f64();
    let mut sized: Vec<(Case, Cost)> = cases.drain(..).zip(costs.iter().copied()).collect();
    let mut dropped = Vec::new();
    loop {
        let rounds = |case: &Case| f64::from(case.rounds.clamp(1, ROUNDS) - 1);
        let sum = |each: &dyn Fn(&Case, &Cost) -> f64| -> f64 {
            sized.iter().map(|(case, cost)| rounds(case) * each(case, cost)).sum()
        };
        let timed = |case: &Case, cost: &Cost| cost.wanted(case.iters) as f64 * cost.mean;
        let fixed = sum(&|_, cost| cost.fixed());
        let share = ((left - fixed) / sum(&timed)).clamp(0.0, 1.0);
        let size = |case: &Case, cost: &Cost| {
            let wanted = cost.wanted(case.iters);
            ((wanted as f64 * share) as u64).max(FEWEST.min(wanted)).max(1)
        };
        let needed = fixed + sum(&|case, cost| size(case, cost) as f64 * cost.mean);
        let cost = |(case, cost): &(Case, Cost)| rounds(case) * cost.fixed();
        let most = (0..sized.len()).max_by(|&a, &b| cost(&sized[a]).total_cmp(&cost(&sized[b])));
        let most = most.filter(|&most| {
            needed > left && sized.len() > 1 && cost(&sized[most]) > LARGEST_SHARE * left
        });
        let Some(most) = most else {
            cases.extend(sized.iter().map(|(case, cost)| {
                let is_timed = cost.iterations > 0 && case.x.is_none();
                let iters = if is_timed { size(case, cost) } else { case.iters };
                Case { iters, ..case.clone() }
            }));
            return dropped;
        };
        let (case, _) = sized.remove(most);
        let name = case.cell.name();
        if !dropped.contains(&name) {
            dropped.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(iters: u64) -> Case {
        Case { iters, rounds: u32::MAX, ..Case::default() }
    }

    fn cost(whole: f64, mean: f64, spread: f64) -> Cost {
        Cost { whole, iterations: 10, mean, spread }
    }

    #[test]
    fn a_case_gets_what_its_spread_deserves_and_no_more_than_the_plan_says() {
        let mut cases = vec![case(1000), case(1000), case(50)];
        let costs = [cost(0.1, 0.001, 0.1), cost(0.1, 0.001, 0.0), cost(0.1, 0.001, 1.0)];
        assert!(fit(&mut cases, &costs, Duration::from_secs(60)).is_empty());
        let iters: Vec<u64> = cases.iter().map(|case| case.iters).collect();
        assert_eq!(iters, [100, FEWEST, 50]);
    }

    #[test]
    fn iterations_shrink_until_all_rounds_fit() {
        let mut cases = vec![case(100_000); 2];
        let costs = [cost(0.1, 0.009, 1.0); 2];
        // Four rounds of two processes, each 10 ms besides its iterations.
        assert!(fit(&mut cases, &costs, Duration::from_secs(8)).is_empty());
        let needed = cases.iter().map(|case| 4.0 * (0.01 + 0.009 * case.iters as f64));
        let needed: f64 = needed.sum();
        assert!((7.9..8.0).contains(&needed), "{needed}");
    }

    #[test]
    fn what_cannot_fit_is_left_out() {
        let mut cases = vec![case(10), case(10)];
        let costs = [cost(1.0, 0.0001, 0.1), cost(10.0, 0.0001, 0.1)];
        let dropped = fit(&mut cases, &costs, Duration::from_secs(6));
        assert_eq!((dropped.len(), cases.len()), (1, 1));
        // No single one is to blame.
        let mut many = vec![case(10); 20];
        let dropped = fit(&mut many, &[cost(1.0, 0.0001, 0.1); 20], Duration::from_secs(20));
        assert_eq!((dropped.len(), many.len()), (0, 20));
    }
}
