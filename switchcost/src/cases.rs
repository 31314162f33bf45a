//! Records sorted into cases, and what the runs of one case come to.

use std::collections::BTreeMap;

use contract::message::Distribution;
use record::{Metric, Place, Quantity, Record, Side};
use serde::Serialize;
use stats::{Estimate, Interval, Mode};

use crate::CONFIDENCE;
use crate::evidence::Evidence;
use crate::quiet;

mod view;

pub use view::View;
use view::views;

/// Figures of the runs of a case, one of each process: in the unit of its metric's
/// [`Quantity`], times in ns and for each hop, task or what else they are divided by.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// Which figure it is.
    pub metric: Metric,
    /// The mean of the processes' figures, geometric if they are positive; of counts and shares the
    /// arithmetic one.
    pub mean: Estimate,
    /// The processes' figures, in the order of the rounds.
    pub means: Vec<f64>,
    /// Their median; of times of iterations, the median of the process medians.
    pub median: f64,
    /// How the iterations are distributed, where it is their time.
    #[serde(flatten)]
    pub iterations: Option<Iterations>,
    /// Two clusters of process means, where one mean would tell of neither.
    pub modes: Option<[Mode; 2]>,
    /// How many process means lie outside Tukey's fences. None is dropped.
    pub outliers: usize,
    /// How many runs failed.
    pub failed: usize,
    /// Less the baseline, round by round.
    pub net: Option<Estimate>,
    /// Divided by the row it is compared with, round by round.
    pub ratio: Option<Estimate>,
    /// The same, each less its own baseline.
    pub net_ratio: Option<Estimate>,
    /// True if that ratio is missing because one of the two is not above its baseline in every
    /// round: what is nothing or less cannot be divided by.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_net_left: bool,
    /// Divided by its twin, round by round: what nothing but noise amounts to.
    pub noise: Option<Interval>,
    /// Evidence of its runs' counters.
    pub evidence: Option<Evidence>,
}

/// Name of a case: its row, and its column where there are several.
pub fn case_name(row: &str, column: &str) -> String {
    match column {
        "" => row.to_owned(),
        column => format!("{row}, {column}"),
    }
}

/// How the iterations of a case are distributed; divided by hops or tasks as their mean is.
#[derive(Clone, Debug, Serialize)]
pub struct Iterations {
    /// The shortest iteration of all.
    pub min: f64,
    /// 50th, 90th and 99th percentile of the iteration, medians of the processes', and the longest
    /// iteration of all.
    pub percentiles: [f64; 4],
}

impl Reading {
    /// Kind of quantity.
    pub fn quantity(&self) -> Quantity {
        self.metric.quantity()
    }
}

/// A case, as far as it tells its records from those of other cases.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// The section's title.
    pub section: String,
    /// The row.
    pub row: String,
    /// The column, or the further one beside it: see [`View::further`].
    pub column: String,
    /// The value of the swept flag.
    pub x: Option<u64>,
}

/// A round: files can hold several runs of a plan, told apart by when they began and by their
/// seeds.
type Round = (u64, u64, u32);

/// A process within its case: the round, the number of tasks, and whether it is a twin.
type Slot = (Round, Option<u64>, bool);

/// The runs of one case.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// Where the case stands; of the first record.
    pub place: Place<'a>,
    /// Figure of each record: the plan's metric, or another of those that it asks for.
    pub view: View,
    /// Every run that measured what it should, twins apart; several of a round where they differ in
    /// a flag, as task counts of a slope do.
    pub all: Vec<&'a Record>,
    /// How many runs did not, and were not repeated with more success.
    pub failed: usize,
    /// Why the last of them did not.
    pub reason: Option<&'a str>,
    /// The run of each place: where it was repeated, the later one.
    runs: BTreeMap<Slot, &'a Record>,
}

/// All cases of some records.
#[derive(Clone, Debug, Default)]
pub struct Cases<'a>(BTreeMap<Key, Runs<'a>>);

impl Key {
    /// True if a record belongs to this case.
    pub fn is_of(&self, record: &Record) -> bool {
        record.place().is_some_and(|place| {
            let views = views(place);
            views.iter().any(|view| Key::of(view, place, record) == *self)
        })
    }

    /// The case's name for people.
    pub fn name(&self) -> String {
        case_name(&self.row, &self.column)
    }

    /// The case that a record belongs to, in one of the places that [`views`] gives.
    fn of(view: &View, place: Place<'_>, record: &Record) -> Self {
        Key {
            section: view.section.clone(),
            row: place.case.row.clone(),
            column: view.column.clone(),
            x: record.x.filter(|_| place.case.over.is_some()),
        }
    }
}

impl<'a> Cases<'a> {
    /// Sorts records; those of runs by hand are passed over.
    pub fn of(records: &'a [Record]) -> Self {
        let mut cases: BTreeMap<Key, Runs<'_>> = BTreeMap::new();
        for record in records {
            // Another build's figures are no more of the same.
            let Some(place) = record.place().filter(|_| record.side != Some(Side::B)) else {
                continue;
            };
            for view in views(place) {
                cases
                    .entry(Key::of(&view, place, record))
                    .or_insert_with(|| Runs::at(place, view))
                    .add(record);
            }
        }
        cases.values_mut().for_each(Runs::settle);
        Cases(cases)
    }

    /// The cases in the plan's order, points of a curve by what it runs over.
    pub fn in_order(&self) -> Vec<(&Key, &Runs<'a>)> {
        let mut cases: Vec<_> = self.0.iter().collect();
        cases.sort_by_key(|(key, runs)| (runs.place.index, runs.view.place, key.x));
        cases
    }

    /// One case.
    pub fn get(&self, key: &Key) -> Option<&Runs<'a>> {
        self.0.get(key)
    }

    /// The same case of another row.
    fn neighbour(&self, key: &Key, row: Option<&String>) -> Option<(Key, &Runs<'a>)> {
        let key = Key { row: row?.clone(), ..key.clone() };
        let runs = self.0.get(&key)?;
        Some((key, runs))
    }

    /// The row that a case is compared with.
    pub fn versus(&self, key: &Key) -> Option<(Key, &Runs<'a>)> {
        self.neighbour(key, self.0.get(key)?.versus())
    }

    /// True if a case depends on the machine alone: a yardstick of the plan, or what others of its column
    /// are measured against.
    pub fn is_yardstick(&self, key: &Key) -> bool {
        let own = self.0.get(key).is_some_and(|runs| runs.place.case.yardstick);
        own || self.0.iter().any(|(other, runs)| {
            runs.baseline() == Some(&key.row)
                && (&other.section, &other.column) == (&key.section, &key.column)
        })
    }

    fn baseline(&self, key: &Key) -> Option<&Runs<'a>> {
        let (_, runs) = self.neighbour(key, self.0.get(key)?.baseline())?;
        Some(runs)
    }

    /// Figures of a case; `None` where its records do not have them.
    pub fn reading(&self, key: &Key) -> Option<Reading> {
        let runs = self.0.get(key)?;
        let own = runs.means();
        let means: Vec<f64> = own.values().copied().collect();
        let net = self.net(key);
        let versus = self.versus(key);
        let ratio = versus.as_ref().and_then(|(_, versus)| ratio_of(&runs.ratios(versus, false)));
        let nets = net.as_ref().zip(versus.and_then(|(versus, _)| self.net(&versus)));
        let net_ratio = nets.as_ref().and_then(|(own, other)| quotient(own, other));
        let no_net_left = nets.is_some_and(|(own, other)| {
            let below = |(round, net): (&Round, &f64)| {
                other.get(round).is_some_and(|other| net.min(*other) <= 0.0)
            };
            own.iter().any(below)
        });
        let metric = &runs.view.metric;
        Some(Reading {
            metric: metric.clone(),
            mean: mean(metric.quantity(), &means)?,
            median: match runs.median_of(|s| s.p50) {
                Some(median) => median,
                None => stats::median(&means)?,
            },
            iterations: runs.iterations(),
            // Counts fall into groups by their nature, and next to nothing is no other mode than
            // nothing.
            modes: match metric.quantity() {
                Quantity::Count => None,
                _ => stats::modes(&means),
            },
            outliers: stats::outliers(&means).unwrap_or(0),
            failed: runs.failed,
            net: net.and_then(|net| {
                let net: Vec<f64> = net.into_values().collect();
                Estimate::mean(&net, CONFIDENCE)
            }),
            ratio,
            net_ratio,
            no_net_left,
            noise: ratio_of(&runs.ratios(runs, true)).and_then(|ratio| ratio.interval),
            evidence: Evidence::of(&runs.all, metric),
            means,
        })
    }

    /// A case less its baseline, by round.
    fn net(&self, key: &Key) -> Option<BTreeMap<Round, f64>> {
        let baseline = self.baseline(key)?.means();
        let own = self.0.get(key)?.means();
        Some(
            own.into_iter()
                .filter_map(|(round, own)| Some((round, own - baseline.get(&round)?)))
                .collect(),
        )
    }
}

impl<'a> Runs<'a> {
    fn at(place: Place<'a>, view: View) -> Self {
        Runs { place, view, all: Vec::new(), failed: 0, reason: None, runs: BTreeMap::new() }
    }

    fn add(&mut self, record: &'a Record) {
        let round = (record.run, record.header.seed, record.round);
        let slot = (round, record.tasks, record.twin);
        // A run that was repeated, after a failure for one, counts once; but not a good one that
        // is followed by a failure.
        match self.runs.get(&slot) {
            Some(earlier) if earlier.is_whole() && !record.is_whole() => {}
            _ => {
                self.runs.insert(slot, record);
            }
        }
    }

    /// Sorts the runs out, once all are there.
    fn settle(&mut self) {
        for (&(_, _, twin), &record) in &self.runs {
            if let Some(error) = &record.error {
                // What a run measured before it failed stays in the file, but it is no sample.
                self.failed += 1;
                self.reason = Some(error);
            } else if record.is_whole() && !twin {
                self.all.push(record);
            }
        }
    }

    /// Distance of the two equal runs of each round that has two: the logarithm of the larger figure over
    /// the smaller one.
    pub fn apart(&self) -> Vec<f64> {
        let distances = self.ratios(self, true).into_iter().map(|ratio| ratio.ln().abs());
        distances.filter(|distance| distance.is_finite()).collect()
    }

    /// Figures divided by those of another case, or of its twins, in each round that has both. Of programs
    /// that took turns, slices of the same turn are divided.
    fn ratios(&self, other: &Runs<'_>, twins: bool) -> Vec<f64> {
        self.against(other, twins, |own, other| own / other)
    }

    /// Figures beside a yardstick's, in each round that has both: a time divided by its time, a rate
    /// multiplied by it.
    pub fn beside(&self, yardstick: &Runs<'_>) -> Vec<f64> {
        let is_rate = self.view.metric.is_per_second();
        self.against(yardstick, false, |own, time| if is_rate { own * time } else { own / time })
    }

    /// Figures and those of another case, or of its twins, put together in each round that has both. Of
    /// programs that took turns the time of the other is 1, and the own time that beside it in the same turns.
    fn against(
        &self,
        other: &Runs<'_>,
        twins: bool,
        together: impl Fn(f64, f64) -> f64,
    ) -> Vec<f64> {
        let (metric, metric_of_other) = (&self.view.metric, &other.view.metric);
        let others = other.whole(twins);
        let both: Vec<(Round, &Record, &Record)> = self
            .whole(false)
            .into_iter()
            .filter_map(|(round, own)| Some((round, own, *others.get(&round)?)))
            .collect();
        let factors = |a: &Record, b: &Record| {
            let is_in_turns = !a.slices.is_empty() && !b.slices.is_empty();
            let factors = (metric.factor(a)?, metric_of_other.factor(b)?);
            is_in_turns.then_some(factors)
        };
        let all: Option<BTreeMap<Round, (f64, f64)>> =
            both.iter().map(|&(round, a, b)| Some((round, factors(a, b)?))).collect();
        if let Some(all) = all {
            let sign = if metric.is_per_second() { -1.0 } else { 1.0 };
            let figure = |(round, log): (Round, f64)| {
                together((sign * log).exp() * all[&round].0, all[&round].1)
            };
            return quiet::log_ratios(both).into_iter().map(figure).collect();
        }
        let figures = |(_, a, b): (Round, &Record, &Record)| {
            Some(together(metric.figure(a)?, metric_of_other.figure(b)?))
        };
        both.into_iter().filter_map(figures).collect()
    }

    /// The row that is subtracted in each round.
    pub fn baseline(&self) -> Option<&'a String> {
        let baseline = self.place.case.baseline.as_ref();
        baseline.filter(|_| !self.view.further)
    }

    /// The row that is divided by in each round.
    fn versus(&self) -> Option<&'a String> {
        let versus = self.place.case.versus.as_ref();
        versus.filter(|_| !self.view.further)
    }

    /// The runs that measured what they should, or their twins.
    fn whole(&self, twins: bool) -> BTreeMap<Round, &'a Record> {
        let whole = self.runs.iter().filter(|((_, _, twin), r)| r.is_whole() && *twin == twins);
        whole.map(|(&(round, _, _), &record)| (round, record)).collect()
    }

    /// The processes' figures.
    pub fn means(&self) -> BTreeMap<Round, f64> {
        self.figures(false)
    }

    /// Figures of the runs, or of their twins.
    fn figures(&self, twins: bool) -> BTreeMap<Round, f64> {
        let whole = self.whole(twins).into_iter();
        whole.filter_map(|(round, r)| Some((round, self.view.metric.figure(r)?))).collect()
    }

    /// Another figure of the iterations of each process, divided as their mean is.
    fn each(&self, figure: impl Fn(&Distribution) -> u64) -> Vec<f64> {
        let each = self.all.iter().filter_map(|record| {
            let samples = record.samples.as_ref()?;
            Some(figure(samples) as f64 / self.view.metric.divisor(record)?)
        });
        each.collect()
    }

    fn iterations(&self) -> Option<Iterations> {
        Some(Iterations {
            min: self.each(|s| s.min).into_iter().reduce(f64::min)?,
            percentiles: [
                self.median_of(|s| s.p50)?,
                self.median_of(|s| s.p90)?,
                self.median_of(|s| s.p99)?,
                self.each(|s| s.max).into_iter().reduce(f64::max)?,
            ],
        })
    }

    fn median_of(&self, figure: impl Fn(&Distribution) -> u64) -> Option<f64> {
        stats::median(&self.each(figure))
    }
}

/// The mean of figures. What cannot be negative has no interval that reaches below zero.
fn mean(quantity: Quantity, figures: &[f64]) -> Option<Estimate> {
    let geometric = match quantity {
        Quantity::Count | Quantity::Share => None,
        Quantity::Time | Quantity::Rate | Quantity::Throughput | Quantity::Bytes => {
            Estimate::geometric_mean(figures, CONFIDENCE)
        }
    };
    geometric.or_else(|| Estimate::mean(figures, CONFIDENCE))
}

/// One case divided by another in the rounds that both have.
fn quotient(a: &BTreeMap<Round, f64>, b: &BTreeMap<Round, f64>) -> Option<Estimate> {
    let (a, b): (Vec<f64>, Vec<f64>) =
        a.iter().filter_map(|(round, &a)| Some((a, *b.get(round)?))).unzip();
    Estimate::ratio(&a, &b, CONFIDENCE)
}

/// Estimate of ratios, one of each round.
fn ratio_of(ratios: &[f64]) -> Option<Estimate> {
    Estimate::ratio(ratios, &vec![1.0; ratios.len()], CONFIDENCE)
}
