//! Which slices count: those in which the machine was quiet. The speed probe, stolen time and the CPU time
//! of others decide, never the figure.

use std::collections::BTreeMap;
use std::sync::Arc;

use facts::{Record, Run, Slice, Timing};
use serde::Serialize;

/// How much slower than the quick level a CPU may be, right before a slice and right after it.
const SLOWER: f64 = 1.05;

/// Largest time that the host may take from its CPUs together in a slice, as a share of its length.
const STOLEN: f64 = 0.02;

/// Largest share of the CPUs' time that others may use around a slice, in parts per thousand.
const OTHERS: u32 = 50;

/// Quantile of a CPU's probes that is its quick level: the quickest of thousands may be a freak.
const QUICK: f64 = 0.1;

/// Share of the turns of two cases that must be quiet; if fewer are, all count, since the speed of the machine
/// cancels in a ratio.
pub(crate) const ENOUGH: f64 = 0.25;

/// Reason why a slice does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// One of its CPUs was slower than its quick level.
    Slow,
    /// The host took time from its CPUs.
    Stolen,
    /// Other programs used the CPUs.
    Others,
}

/// Quick level of each CPU: a time of the speed probe, in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels(BTreeMap<u32, f64>);

impl Levels {
    /// Levels of a run, from all of its slices.
    pub fn of<'a>(slices: impl IntoIterator<Item = &'a Slice>) -> Self {
        let mut probes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for probe in slices.into_iter().flat_map(|slice| &slice.probes) {
            let times = [probe.before, probe.after].map(f64::from);
            probes.entry(probe.cpu).or_default().extend(times);
        }
        let level = |(cpu, times): (u32, Vec<f64>)| Some((cpu, stats::quantile(&times, QUICK)?));
        Levels(probes.into_iter().filter_map(level).collect())
    }

    /// Reason why a slice does not count; `None` if it does.
    pub fn disturbance(&self, slice: &Slice) -> Option<Disturbance> {
        let is_slow = slice.probes.iter().any(|probe| {
            let level = self.0.get(&probe.cpu).copied().unwrap_or(f64::INFINITY);
            f64::from(probe.before.max(probe.after)) > SLOWER * level
        });
        let stolen = slice.stolen.unwrap_or(0) as f64;
        if is_slow {
            Some(Disturbance::Slow)
        } else if stolen > STOLEN * slice.window as f64 {
            Some(Disturbance::Stolen)
        } else if slice.others.is_some_and(|share| share > OTHERS) {
            Some(Disturbance::Others)
        } else {
            None
        }
    }
}

/// Sets for each process which time counts. To be called once all records of a run are there.
pub fn settle(records: &mut [Record]) {
    let mut runs: Vec<Arc<Run>> = Vec::new();
    for record in &*records {
        if !runs.iter().any(|run| Arc::ptr_eq(run, &record.header)) {
            runs.push(record.header.clone());
        }
    }
    for run in runs {
        let of_run = |record: &&mut Record| Arc::ptr_eq(&record.header, &run);
        let mut own: Vec<&mut Record> = records.iter_mut().filter(of_run).collect();
        let levels = Levels::of(own.iter().flat_map(|record| &record.slices));
        let mut cases: BTreeMap<(u32, Option<u64>), Vec<Vec<bool>>> = BTreeMap::new();
        for record in &mut own {
            record.quiet = record.slices.iter().map(|s| levels.disturbance(s).is_none()).collect();
            cases.entry((record.case, record.x)).or_default().push(record.quiet.clone());
        }
        for record in &mut own {
            let is_enough = are_enough(&cases[&(record.case, record.x)], stats::MIN_ROUNDS);
            record.timing = timing(&record.slices, &record.quiet, is_enough);
        }
    }
}

/// Whether half of the rounds have a quiet slice, and as many rounds as a result takes. Their share may be
/// small: a CPU that is quick before a slice and after it was seldom slow in between (simulated below).
fn are_enough(rounds: &[Vec<bool>], fewest: usize) -> bool {
    let taken = rounds.iter().filter(|round| !round.is_empty());
    let with = taken.clone().filter(|round| round.contains(&true)).count();
    let taken = taken.count();
    2 * with >= taken && with >= taken.min(fewest)
}

fn timing(slices: &[Slice], quiet: &[bool], is_enough: bool) -> Timing {
    let counted = slices.iter().zip(quiet).filter(|(_, quiet)| **quiet || !is_enough);
    // The median: a slice in which the speed changed, or a thread was preempted, is not two.
    let means: Vec<f64> = counted.map(|(slice, _)| slice.mean()).collect();
    match (slices.is_empty(), stats::median(&means)) {
        (true, _) => Timing::Whole,
        (false, Some(median)) if is_enough => Timing::Slices(median),
        (false, Some(median)) => Timing::AllSlices(median),
        (false, None) => Timing::Disturbed,
    }
}

/// Whether both slices of a turn were quiet, and their figures.
type Turn = (bool, [f64; 2]);

/// Figures of the slices of two cases in the turns that count, by round: slices of one turn lie next to each
/// other, so that what the machine does meanwhile cancels. Turns count in which both slices were quiet; or all,
/// if too few were so: a result takes `fewest` rounds.
pub(crate) fn turns<'a, K>(
    rounds: impl IntoIterator<Item = (K, &'a Record, &'a Record)>,
    fewest: usize,
    figure: impl Fn(&Slice) -> f64,
) -> Vec<(K, Vec<[f64; 2]>)> {
    let turns_of = |a: &Record, b: &Record| -> Vec<Turn> {
        let others: BTreeMap<u32, (&Slice, bool)> =
            b.slices.iter().zip(&b.quiet).map(|(s, &quiet)| (s.turn, (s, quiet))).collect();
        let turn = |(slice, &quiet): (&Slice, &bool)| {
            let (other, is_quiet) = others.get(&slice.turn)?;
            Some((quiet && *is_quiet, [figure(slice), figure(other)]))
        };
        a.slices.iter().zip(&a.quiet).filter_map(turn).collect()
    };
    let rounds: Vec<(K, Vec<Turn>)> =
        rounds.into_iter().map(|(key, a, b)| (key, turns_of(a, b))).collect();
    let quiet = rounds.iter().map(|(_, turns)| turns.iter().map(|(quiet, _)| *quiet).collect());
    let quiet: Vec<Vec<bool>> = quiet.collect();
    let all: usize = quiet.iter().map(Vec::len).sum();
    let both = quiet.iter().flatten().filter(|quiet| **quiet).count();
    let is_enough = are_enough(&quiet, fewest) && both as f64 >= ENOUGH * all as f64;
    let counted = |(key, turns): (K, Vec<Turn>)| {
        let counted = turns.into_iter().filter(|(quiet, _)| *quiet || !is_enough);
        (key, counted.map(|(_, figures)| figures).collect())
    };
    rounds.into_iter().map(counted).collect()
}

/// Logarithm of first ÷ second over turns: the median, which a load that comes and goes moves less than the
/// mean. `None` without turns, or if a figure is nothing.
pub(crate) fn log_ratio(turns: &[[f64; 2]]) -> Option<f64> {
    let logs: Vec<f64> = turns.iter().map(|[first, second]| (first / second).ln()).collect();
    stats::median(&logs)
}

/// Logarithms of the ratio of two cases, one of each round: the median over its turns.
pub fn log_ratios<'a, K>(
    rounds: impl IntoIterator<Item = (K, &'a Record, &'a Record)>,
) -> Vec<(K, f64)> {
    let rounds = turns(rounds, stats::MIN_ROUNDS, Slice::mean).into_iter();
    rounds.filter_map(|(key, turns)| Some((key, log_ratio(&turns)?))).collect()
}

/// Slices of some records, and how many of them were disturbed by what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Slices.
    pub slices: usize,
    /// Slices that do not count.
    pub disturbed: BTreeMap<Disturbance, usize>,
}

impl Tally {
    /// Tally of records; the levels are those of all of them.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record> + Clone) -> Self {
        let levels = Levels::of(records.clone().into_iter().flat_map(|record| &record.slices));
        let mut tally = Tally::default();
        for slice in records.into_iter().flat_map(|record| &record.slices) {
            tally.slices += 1;
            if let Some(why) = levels.disturbance(slice) {
                *tally.disturbed.entry(why).or_default() += 1;
            }
        }
        tally
    }

    /// Share of the slices that are quiet; `None` if there are none.
    pub fn quiet(&self) -> Option<f64> {
        let disturbed: usize = self.disturbed.values().sum();
        (self.slices > 0).then(|| 1.0 - disturbed as f64 / self.slices as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use facts::Probe;

    fn slice(total: u64, before: u32, after: u32) -> Slice {
        let probes = vec![Probe { cpu: 1, before, after }];
        Slice { window: 10_000, iterations: 10, total, probes, ..Slice::default() }
    }

    fn run(slices: Vec<Slice>) -> Vec<Record> {
        let mut record = testing::record("p", 9, &[100; 9]);
        record.slices = slices;
        let mut records = vec![record];
        settle(&mut records);
        records
    }

    #[test]
    fn the_right_slices_drop_out() {
        let stolen = Slice { stolen: Some(10_000), ..slice(9000, 800, 800) };
        let others = Slice { others: Some(300), ..slice(9000, 800, 800) };
        let quiet = [slice(1000, 800, 800), slice(1100, 810, 805)];
        let disturbed = [slice(9000, 800, 1200), slice(9000, 850, 800), stolen, others];
        let records = run([&quiet[..], &disturbed[..]].concat());
        assert_eq!(records[0].timing, Timing::Slices(105.0));
        let tally = Tally::of(&records);
        let of = |why| tally.disturbed.get(&why).copied();
        assert_eq!(of(Disturbance::Slow), Some(2));
        assert_eq!((of(Disturbance::Stolen), of(Disturbance::Others)), (Some(1), Some(1)));
        assert!((tally.quiet().unwrap() - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_figure_decides_nothing() {
        let levels = Levels::of(&[slice(1, 800, 800)]);
        assert_eq!(levels.disturbance(&slice(u64::MAX / 2, 800, 800)), None);
    }

    #[test]
    fn a_process_without_a_quiet_slice_has_no_time() {
        let quiet = run(vec![slice(1000, 800, 800); 9]).remove(0);
        let mut records = vec![quiet.clone(); 6];
        records[3].slices = vec![slice(9000, 900, 800)];
        settle(&mut records);
        assert_eq!(records[3].timing, Timing::Disturbed);
        // With quiet slices in less than half of the rounds all count.
        for record in &mut records[2..] {
            record.slices = vec![slice(2000, 900, 800); 2];
        }
        settle(&mut records);
        assert_eq!(records[0].timing, Timing::AllSlices(100.0));
        assert_eq!(records[3].timing, Timing::AllSlices(200.0));
    }

    /// A machine whose speed changes by 40 %, to slow and to quick with these chances in each half of a slice, of
    /// which the probe tells; programs with a bias of their own of 2 %, and slices with heavy tails.
    fn simulated(rng: &mut fastrand::Rng, flips: [f64; 2]) -> [Vec<Record>; 2] {
        let normal = |rng: &mut fastrand::Rng| (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let mut sides = [Vec::new(), Vec::new()];
        // All of one run, and so of one quick level.
        let model = testing::record("p", 9, &[100; 9]);
        let mut is_slow = false;
        let mut half = |rng: &mut fastrand::Rng| {
            is_slow ^= rng.f64() < flips[usize::from(is_slow)];
            if is_slow { 1.4 } else { 1.0 }
        };
        for round in 0..12 {
            let bias = [normal(rng), normal(rng)].map(|x| (0.02 * x).exp());
            let mut slices = [Vec::new(), Vec::new()];
            for turn in 0..8 {
                for side in [0, 1] {
                    let speeds = [half(rng), half(rng), half(rng)];
                    let tail = if rng.f64() < 0.05 { 1.3 } else { 1.0 };
                    let noise = (0.05 * normal(rng)).exp();
                    let speed = (speeds[0] + 2.0 * speeds[1] + speeds[2]) / 4.0;
                    let total = (1e6 * speed * bias[side] * tail * noise) as u64;
                    let [before, _, after] = speeds.map(|speed| (800.0 * speed) as u32);
                    slices[side].push(Slice { turn, ..slice(total, before, after) });
                }
            }
            for (side, slices) in slices.into_iter().enumerate() {
                sides[side].push(model.clone());
                let record = sides[side].last_mut().unwrap();
                (record.round, record.slices) = (round, slices);
            }
        }
        sides
    }

    /// How many of 400 intervals hold the truth of the ratio of two equal programs, half of the mean width, and
    /// the mean time by quiet slices, as its share of the time on a quiet machine.
    fn trial(flips: [f64; 2]) -> (u32, f64, f64) {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut held, mut width, mut times) = (0, 0.0, Vec::new());
        for _ in 0..400 {
            let [mut a, mut b] = simulated(&mut rng, flips);
            settle(&mut a);
            settle(&mut b);
            times.extend(a.iter().filter_map(|record| match record.timing {
                Timing::Slices(mean) => Some(mean / 1e5),
                _ => None,
            }));
            let rounds = a.iter().zip(&b).map(|(a, b)| (a.round, a, b));
            let logs: Vec<f64> = log_ratios(rounds).into_iter().map(|(_, log)| log).collect();
            let interval = stats::t_interval(&logs, crate::figures::CONFIDENCE).unwrap();
            held += u32::from(interval.contains(0.0));
            width += (interval.high - interval.low) / 2.0 / 400.0;
        }
        (held, width, times.iter().sum::<f64>() / times.len() as f64)
    }

    #[test]
    fn intervals_of_equal_programs_hold_the_truth_as_often_as_they_say() {
        for (flips, wide) in [([0.05, 0.05], 0.06), ([0.3, 0.1], 0.13)] {
            let (held, width, time) = trial(flips);
            // 95 % of 400, give or take two standard errors and a half.
            assert!((370..=391).contains(&held), "{flips:?}: {held}");
            // Speed that changes by 40 % is next to no part of it, even if the machine is slow three quarters of
            // the time.
            assert!(width < wide, "{flips:?}: {width}");
            assert!((0.98..1.04).contains(&time), "{flips:?}: {time}");
        }
    }
}
