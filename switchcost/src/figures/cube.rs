//! The cube of figures: what records say, by section, row, column, x and side. It is made once for a file; tables,
//! curves, the answer, CSV and JSON are projections of it, comparisons are joins.
//!
//! The process is the sample: what is averaged here are the means of whole processes, never their iterations.

use std::collections::BTreeMap;

use facts::{Ending, Quantity, Record, Side};
use stats::Estimate;

use super::basis::{CONFIDENCE, grouped};
use super::doubts;
use super::evidence::Evidence;
use super::figure::{Figure, Outcome, Reading};
use super::grade::{Grade, Graded};
use super::memory::{self, Slopes};
use super::runs::{self, Key, Runs};
use super::speed::{self, HoldOut, Slices, Speed};

/// All figures of some records.
#[derive(Clone, Debug)]
pub struct Figures<'a> {
    /// Records that they are made of.
    pub records: &'a [Record],
    /// What became of their slices.
    pub slices: Slices,
    /// Trial of their correction.
    pub held_out: HoldOut,
    /// Figures in the plan's order, points of a curve by what it runs over.
    all: Vec<Figure<'a>>,
    index: BTreeMap<Key, usize>,
}

impl<'a> Figures<'a> {
    /// Figures of records; processes that were run by hand are passed over.
    pub fn of(records: &'a [Record]) -> Self {
        let Speed { timed, slices, held_out } = speed::correct(records);
        let mut cases: BTreeMap<Key, Runs<'_>> = BTreeMap::new();
        for timed in &timed {
            let Some(place) = timed.record.place() else { continue };
            for (key, metric, position) in runs::places(timed.record) {
                let case = cases.entry(key).or_insert_with(|| Runs::new(place, metric, position));
                case.add(timed);
            }
        }
        let mut all: Vec<Figure<'_>> = cases
            .into_iter()
            .map(|(key, mut runs)| {
                runs.settle();
                Figure {
                    key,
                    runs,
                    outcome: Outcome::Absent,
                    doubts: Vec::new(),
                    grade: Grade::Sure,
                }
            })
            .collect();
        all.sort_by_key(|f| (f.runs.place.index, f.runs.position, f.key.x));
        let index = all.iter().enumerate().map(|(place, f)| (f.key.clone(), place)).collect();
        let mut figures = Figures { records, slices, held_out, all, index };
        for place in 0..figures.all.len() {
            let outcome = figures.outcome(&figures.all[place]);
            let figure = &mut figures.all[place];
            figure.doubts = doubts::of_figure(&figure.runs, &outcome);
            figure.grade = Grade::of(&figure.doubts);
            figure.outcome = outcome;
        }
        for place in 0..figures.all.len() {
            let [ratio, net, net_ratio] = figures.grades(&figures.all[place]);
            match &mut figures.all[place].outcome {
                Outcome::Measured(reading) => {
                    reading.ratio.iter_mut().for_each(|own| own.grade = ratio);
                    reading.net.iter_mut().for_each(|own| own.grade = net);
                    reading.net_ratio.iter_mut().for_each(|own| own.grade = net_ratio);
                }
                Outcome::Slope(slopes) => slopes.ratio.iter_mut().for_each(|own| own.grade = ratio),
                _ => {}
            }
        }
        figures
    }

    /// Figures in the plan's order; of a duel those of the first side.
    pub fn iter(&self) -> impl Iterator<Item = &Figure<'a>> {
        self.all.iter().filter(|figure| figure.key.side == Side::A)
    }

    /// Both sides of each section's own figures in a duel, in the plan's order.
    pub fn sides(&self) -> impl Iterator<Item = (Option<&Figure<'a>>, Option<&Figure<'a>>)> {
        let own = self.all.iter().filter(|figure| !figure.runs.is_further());
        let keys = grouped(own.map(|figure| (Key { side: Side::A, ..figure.key.clone() }, ())));
        keys.into_iter().map(|(first, _)| {
            let second = Key { side: Side::B, ..first.clone() };
            (self.get(&first), self.get(&second))
        })
    }

    /// One figure.
    pub fn get(&self, key: &Key) -> Option<&Figure<'a>> {
        self.all.get(*self.index.get(key)?)
    }

    /// Figure of another row in the same place.
    fn neighbour(&self, of: &Figure<'_>, row: Option<&String>) -> Option<&Figure<'a>> {
        self.get(&Key { row: row?.clone(), ..of.key.clone() })
    }

    /// Figure that another is divided by.
    pub fn versus(&self, of: &Figure<'_>) -> Option<&Figure<'a>> {
        self.neighbour(of, of.runs.versus())
    }

    /// Figure that is subtracted from another.
    pub fn baseline(&self, of: &Figure<'_>) -> Option<&Figure<'a>> {
        self.neighbour(of, of.runs.baseline())
    }

    /// Grades of what is made of a figure and others: its ratio, its difference from the baseline, and the
    /// ratio of both differences.
    fn grades(&self, of: &Figure<'_>) -> [Grade; 3] {
        let grade = |figure: Option<&Figure<'_>>| figure.map_or(Grade::Sure, |figure| figure.grade);
        let (versus, baseline) = (self.versus(of), self.baseline(of));
        let ratio = of.grade.max(grade(versus));
        let net = of.grade.max(grade(baseline));
        let others = grade(versus.and_then(|versus| self.baseline(versus)));
        [ratio, net, ratio.max(net).max(others)]
    }

    /// The case in which two equal runs differ most, and by what share: the bound of the A/A ratio's interval
    /// that lies farther from one. `None` if no case was run twice a round.
    pub fn noise_floor(&self) -> Option<(String, f64)> {
        let own = self.iter().filter(|f| !f.runs.is_further() && f.key.x.is_none());
        let floors = own.filter_map(|figure| {
            let floor = figure.reading()?.noise?.factor_from_one()?;
            Some((figure.key.name(), floor))
        });
        floors.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn outcome(&self, of: &Figure<'_>) -> Outcome {
        let runs = &of.runs;
        if runs.whole.is_empty() {
            // The section's own column says why.
            if runs.is_further() {
                return Outcome::Absent;
            }
            return match runs.ending {
                Ending::Measured => Outcome::Failed { reason: "interrupted".to_owned() },
                Ending::Failed(reason) => Outcome::Failed { reason: reason.to_owned() },
                Ending::NotRun(reason) => Outcome::NotRun { reason: reason.to_owned() },
            };
        }
        let versus = self.versus(of).map(|versus| &versus.runs);
        if runs.metric.is_slope() {
            return match memory::slopes(&runs.whole, versus.map(|versus| &versus.whole[..])) {
                Some(slopes) => Outcome::Slope(Box::new(Slopes { failed: runs.failed, ..slopes })),
                None => Outcome::Failed { reason: memory::no_slope(&runs.whole).to_owned() },
            };
        }
        let less = |of: &Figure<'_>| Some(of.runs.less(&self.baseline(of)?.runs));
        let nets = [less(of), self.versus(of).and_then(less)];
        match reading(runs, versus, nets) {
            Some(reading) => Outcome::Measured(Box::new(reading)),
            None if runs.is_further() => Outcome::Absent,
            None if runs.whole.iter().any(|record| record.samples.is_some()) => Outcome::Failed {
                reason: format!("the records do not tell: {}", runs.metric.label()),
            },
            None => Outcome::Failed { reason: "the records hold no samples".to_owned() },
        }
    }
}

/// Figures of a case, and beside the one that it is divided by; `nets` are both less their baselines, by round.
fn reading(
    runs: &Runs<'_>,
    versus: Option<&Runs<'_>>,
    nets: [Option<BTreeMap<speed::Round, f64>>; 2],
) -> Option<Reading> {
    let means: Vec<f64> = runs.means().into_values().collect();
    // With the error of the correction, which intervals are made of and single processes are not.
    let samples: Vec<f64> = runs.with_errors().into_values().collect();
    let quantity = runs.metric.quantity();
    let is_signed = matches!(quantity, Quantity::Count | Quantity::Share);
    // What cannot be negative has no interval that reaches below zero.
    let geometric = if is_signed { None } else { Estimate::geometric_mean(&samples, CONFIDENCE) };
    let mean = geometric.or_else(|| Estimate::mean(&samples, CONFIDENCE))?;
    let [net, other_net] = &nets;
    let both = net.as_ref().zip(other_net.as_ref());
    let is_nothing = |(round, net): (&speed::Round, &f64)| {
        both.is_some_and(|(_, other)| other.get(round).is_some_and(|o| net.min(*o) <= 0.0))
    };
    Some(Reading {
        mean,
        median: runs.median_of(|s| s.p50).or_else(|| stats::median(&means))?,
        iterations: runs.iterations(),
        // Counts fall into groups by their nature, and next to nothing is no other mode than nothing.
        modes: if quantity == Quantity::Count { None } else { stats::modes(&means) },
        outliers: stats::outliers(&means).unwrap_or(0),
        failed: runs.failed,
        ratio: versus.and_then(|versus| runs::ratio_of(&runs.ratios(versus))).map(Graded::from),
        net_ratio: both.and_then(|(own, other)| runs::quotient(own, other)).map(Graded::from),
        no_net_left: both.is_some_and(|(own, _)| own.iter().any(is_nothing)),
        net: net
            .as_ref()
            .and_then(|net| Estimate::mean(&net.values().copied().collect::<Vec<_>>(), CONFIDENCE))
            .map(Graded::from),
        noise: runs::ratio_of(&runs.twin_ratios()).and_then(|ratio| ratio.interval),
        evidence: Evidence::of(&runs.whole, &runs.metric),
        means,
        samples,
    })
}
