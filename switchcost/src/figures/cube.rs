//! The cube of figures: what records say, by section, row, column, x and side. It is made once for a file; tables,
//! curves, the answer, CSV and JSON are projections of it, comparisons are joins.
//!
//! The process is the sample: what is averaged here are the means of whole processes, never their iterations.

use std::collections::BTreeMap;

use record::{Ending, Quantity, Record, Side};
use stats::Estimate;

use super::basis::{CONFIDENCE, unique};
use super::doubts;
use super::evidence::Evidence;
use super::figure::{Figure, Outcome, Reading};
use super::grade::{Grade, Graded};
use super::memory;
use super::runs::{self, Key, Runs};
use super::sessions;
use super::speed::{self, HoldOut, Slices, Speed};

/// All figures of some records.
#[derive(Clone, Debug)]
pub struct Figures<'a> {
    pub(crate) records: &'a [Record],
    pub(crate) slices: Slices,
    /// Trial of the correction of times.
    pub held_out: HoldOut,
    /// Figures of each session, if there are several.
    sessions: Vec<Figures<'a>>,
    /// Figures in the plan's order, points of a curve by what it runs over.
    all: Vec<Figure<'a>>,
    index: BTreeMap<Key, usize>,
}

impl<'a> Figures<'a> {
    /// Figures of records; processes that were run by hand are passed over. Of several sessions each is a sample.
    pub fn of(records: &'a [Record]) -> Self {
        let mut figures = Figures::of_processes(records);
        let sessions = sessions::of(records);
        if sessions.len() > 1 && records.iter().all(|record| record.row.side.is_none()) {
            let sessions: Vec<_> = sessions.into_iter().map(Figures::of_processes).collect();
            for figure in &mut figures.all {
                let tried = sessions.iter().filter_map(|session| session.get(&figure.key));
                sessions::combine(figure, &tried.collect::<Vec<_>>());
            }
            figures.sessions = sessions;
        }
        figures
    }

    /// Figures with each process as a sample.
    fn of_processes(records: &'a [Record]) -> Self {
        let Speed { timed, slices, held_out } = speed::correct(records);
        let mut cases: BTreeMap<Key, Runs<'_>> = BTreeMap::new();
        for timed in &timed {
            let Some(place) = timed.record.place() else { continue };
            for (key, metric, position) in runs::places(timed.record) {
                let case = cases.entry(key).or_insert_with(|| Runs::new(place, metric, position));
                case.add(timed);
            }
        }
        let figure = |(key, mut runs): (Key, Runs<'a>)| {
            runs.settle();
            let outcome = outcome(&runs);
            let doubts = doubts::of_figure(&runs, &outcome);
            Figure { key, runs, outcome, grade: Grade::of(&doubts), doubts }
        };
        let mut all: Vec<Figure<'_>> = cases.into_iter().map(figure).collect();
        all.sort_by_key(|f| (f.runs.place.index, f.runs.position, f.key.x));
        let index = all.iter().enumerate().map(|(place, f)| (f.key.clone(), place)).collect();
        let mut figures = Figures { records, slices, held_out, sessions: Vec::new(), all, index };
        (0..figures.all.len()).for_each(|place| figures.relate(place));
        figures
    }

    /// A figure in each session that is a sample of it, or the figure itself.
    pub(super) fn in_sessions<'b>(&'b self, figure: &'b Figure<'a>) -> Vec<&'b Figure<'a>> {
        let tried = self.sessions.iter().filter_map(|session| session.get(&figure.key));
        sessions::samples(&tried.collect::<Vec<_>>()).unwrap_or_else(|| vec![figure])
    }

    /// Figures in the plan's order; of a duel those of the first side.
    pub fn iter(&self) -> impl Iterator<Item = &Figure<'a>> {
        self.all.iter().filter(|figure| figure.key.side == Side::A)
    }

    /// Both sides of each section's own figures in a duel, in the plan's order.
    pub(crate) fn sides(&self) -> impl Iterator<Item = [Option<&Figure<'a>>; 2]> {
        let own = self.all.iter().filter(|figure| !figure.runs.is_further());
        let keys = unique(own.map(|figure| Key { side: Side::A, ..figure.key.clone() }));
        keys.into_iter().map(|first| {
            let second = Key { side: Side::B, ..first.clone() };
            [self.get(&first), self.get(&second)]
        })
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Figure<'a>> {
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

    /// Sets what is made of a figure and others: its ratio, its difference from the baseline, and the ratio of both
    /// differences. Each has the worst grade of the figures that it is made of.
    fn relate(&mut self, place: usize) {
        let own = &self.all[place];
        let (versus, baseline) = (self.versus(own), self.baseline(own));
        let other_baseline = versus.and_then(|versus| self.baseline(versus));
        let worst = |others: &[Option<&Figure<'_>>]| {
            others.iter().flatten().map(|other| other.grade).fold(own.grade, Grade::max)
        };
        let (of_ratio, of_net) = (worst(&[versus]), worst(&[baseline]));
        let of_net_ratio = worst(&[versus, baseline, other_baseline]);
        let net = baseline.map(|baseline| own.runs.less(&baseline.runs));
        let other = versus.zip(other_baseline).map(|(of, baseline)| of.runs.less(&baseline.runs));
        let both = net.as_ref().zip(other.as_ref());
        let net_ratio = both.and_then(|(own, other)| runs::quotient(own, other));
        let is_nothing = |(round, net): (&speed::Round, &f64)| {
            both.is_some_and(|(_, other)| other.get(round).is_some_and(|o| net.min(*o) <= 0.0))
        };
        let no_net_left = both.is_some_and(|(own, _)| own.iter().any(is_nothing));
        let net = net
            .and_then(|net| Estimate::mean(&net.into_values().collect::<Vec<f64>>(), CONFIDENCE));
        let ratio = versus.and_then(|versus| own.runs.ratio(&versus.runs));
        let sizes = versus.and_then(|of| Some(memory::quotient(own.slopes()?, of.slopes()?)));
        match &mut self.all[place].outcome {
            Outcome::Measured(reading) => {
                reading.ratio = ratio.map(|estimate| Graded { estimate, grade: of_ratio });
                reading.net = net.map(|estimate| Graded { estimate, grade: of_net });
                reading.net_ratio =
                    net_ratio.map(|estimate| Graded { estimate, grade: of_net_ratio });
                reading.no_net_left = no_net_left;
            }
            Outcome::Slope(slopes) => {
                slopes.ratio =
                    sizes.and_then(|(ratio, _)| Some(Graded { estimate: ratio?, grade: of_ratio }));
                slopes.divided = sizes.map(|(_, divided)| divided);
            }
            _ => {}
        }
    }

    /// The case in which two equal runs differ most, and by what share: the bound of the A/A ratio's interval
    /// that lies farther from one. `None` if no case was run twice a round.
    pub(crate) fn noise_floor(&self) -> Option<(String, f64)> {
        let own = self.iter().filter(|f| !f.runs.is_further() && f.key.x.is_none());
        let floors = own.filter_map(|figure| {
            let floor = figure.reading()?.noise?.factor_from_one()?;
            Some((figure.key.name(), floor))
        });
        floors.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// What came of the processes of a case.
fn outcome(runs: &Runs<'_>) -> Outcome {
    let failed = |reason: &str| Outcome::Failed { reason: reason.to_owned() };
    if runs.whole.is_empty() {
        return match runs.ending {
            // The section's own column says why.
            _ if runs.is_further() => Outcome::Absent,
            Ending::Measured => failed("interrupted"),
            Ending::Failed(reason) => failed(reason),
            Ending::NotRun(reason) => Outcome::NotRun { reason: reason.to_owned() },
        };
    }
    if runs.metric.is_slope() {
        return match memory::slopes(&runs.whole, runs.failed) {
            Some(slopes) => Outcome::Slope(Box::new(slopes)),
            None => failed(memory::no_slope(&runs.whole)),
        };
    }
    match reading(runs) {
        Some(reading) => Outcome::Measured(Box::new(reading)),
        None if runs.is_further() => Outcome::Absent,
        None if runs.whole.iter().any(|record| record.samples.is_some()) => {
            failed(&format!("the records do not tell: {}", runs.metric.label()))
        }
        None => failed("the records hold no samples"),
    }
}

/// Figures of a case by itself.
fn reading(runs: &Runs<'_>) -> Option<Reading> {
    let means: Vec<f64> = runs.means().into_values().collect();
    // With the error of the correction, which intervals are made of and single processes are not.
    let samples: Vec<f64> = runs.with_errors().into_values().collect();
    let quantity = runs.metric.quantity();
    let is_signed = matches!(quantity, Quantity::Count | Quantity::Share);
    // What cannot be negative has no interval that reaches below zero.
    let geometric = if is_signed { None } else { Estimate::geometric_mean(&samples, CONFIDENCE) };
    Some(Reading {
        mean: geometric.or_else(|| Estimate::mean(&samples, CONFIDENCE))?,
        median: runs.median_of(|s| s.p50).or_else(|| stats::median(&means))?,
        iterations: runs.iterations(),
        // Counts fall into groups by their nature, and next to nothing is no other mode than nothing.
        modes: if quantity == Quantity::Count { None } else { stats::modes(&means) },
        outliers: stats::outliers(&means).unwrap_or(0),
        failed: runs.failed,
        net: None,
        ratio: None,
        net_ratio: None,
        no_net_left: false,
        noise: runs::ratio_of(&runs.twin_ratios()).and_then(|ratio| ratio.interval),
        evidence: Evidence::of(&runs.whole, &runs.metric),
        means,
        samples,
    })
}
