//! The cube of figures: what records say, by section, row, column and x. It is made once for a file; tables,
//! curves, the answer, CSV and JSON are projections of it, comparisons are joins.
//!
//! The process is the sample: what is averaged here are the means of whole processes, never their iterations.

use std::collections::BTreeMap;

use facts::{Ending, Metric, Quantity, Record, Side};
use serde::{Serialize, Serializer};
use stats::{Estimate, Interval, Mode};

pub mod conditions;
pub mod curves;
pub mod doubt;
pub mod doubts;
pub mod evidence;
pub mod finding;
pub mod grade;
pub mod known;
pub mod memory;
pub mod number;
pub mod pairs;
pub mod provenance;
pub mod runs;
pub mod speed;
pub mod verdict;

use conditions::Conditions;
use doubt::{Doubt, Stated};
use evidence::Evidence;
use grade::{Grade, Graded};
use memory::Slopes;
use runs::{Iterations, Key, Runs};
use speed::{HoldOut, Slices, Speed};

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

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

/// One figure.
#[derive(Clone, Debug)]
pub struct Figure<'a> {
    /// Its place.
    pub key: Key,
    /// Its processes.
    pub runs: Runs<'a>,
    /// What came of them.
    pub outcome: Outcome,
    /// What makes it less sure.
    pub doubts: Vec<Doubt>,
    /// What it is worth, which follows from them.
    pub grade: Grade,
}

/// What came of the processes of a case.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// A figure of each process.
    Measured(Box<Reading>),
    /// Bytes for each task: slopes over the number of tasks.
    Slope(Box<Slopes>),
    /// No process has it: the cause of the last failure.
    Failed {
        /// Cause.
        reason: String,
    },
    /// It was not tried.
    NotRun {
        /// Reason.
        reason: String,
    },
    /// A further column that the records do not tell; the section's own column says what became of them.
    Absent,
}

impl Outcome {
    /// Why there is no figure; `None` if there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Failed { reason } | Outcome::NotRun { reason } => Some(reason),
            Outcome::Measured(_) | Outcome::Slope(_) | Outcome::Absent => None,
        }
    }
}

/// Figures of the processes of a case, one of each, in the unit of the metric's [`Quantity`]: times in ns and
/// for each hop, task or what else they are divided by.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// Mean of the processes' figures, geometric if they are positive; of counts and shares the
    /// arithmetic one.
    pub mean: Estimate,
    /// The processes' figures, in the order of the rounds.
    pub means: Vec<f64>,
    /// The same with the error of the correction: what intervals are made of.
    #[serde(skip)]
    pub samples: Vec<f64>,
    /// Their median; of times of iterations, the median of the process medians.
    pub median: f64,
    /// Distribution of the iterations, if the figure is their time.
    #[serde(flatten)]
    pub iterations: Option<Iterations>,
    /// Two clusters of process means, if one mean would describe neither.
    pub modes: Option<[Mode; 2]>,
    /// Number of process means outside Tukey's fences. None is dropped.
    pub outliers: usize,
    /// Number of processes that failed.
    pub failed: usize,
    /// Less the baseline, round by round.
    pub net: Option<Graded>,
    /// Divided by the row it is compared with, round by round.
    pub ratio: Option<Graded>,
    /// The same, each less its own baseline.
    pub net_ratio: Option<Graded>,
    /// True if that ratio is missing because one of the two is not above its baseline in every round: what is
    /// nothing or less cannot be divided by.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_net_left: bool,
    /// Divided by its twin, round by round: what nothing but noise amounts to.
    pub noise: Option<Interval>,
    /// Evidence of its processes' counters.
    pub evidence: Option<Evidence>,
}

impl Figure<'_> {
    /// Metric.
    pub fn metric(&self) -> &Metric {
        &self.runs.metric
    }

    /// Kind of quantity.
    pub fn quantity(&self) -> Quantity {
        self.runs.metric.quantity()
    }

    /// Figures of the processes, if they were measured and are no sizes.
    pub fn reading(&self) -> Option<&Reading> {
        match &self.outcome {
            Outcome::Measured(reading) => Some(reading),
            _ => None,
        }
    }

    /// Sizes for each task.
    pub fn slopes(&self) -> Option<&Slopes> {
        match &self.outcome {
            Outcome::Slope(slopes) => Some(slopes),
            _ => None,
        }
    }

    /// Name of the case, with the value of a swept flag.
    pub fn name(&self) -> String {
        let swept = self.swept().map_or(String::new(), |(flag, x)| format!(", {flag} {x}"));
        self.key.name() + &swept
    }

    /// Flag that is swept, as it is typed, and its value.
    pub fn swept(&self) -> Option<(String, u64)> {
        Some((flag(self.runs.place.case.over.as_ref()?), self.key.x?))
    }
}

/// One figure divided by another, round by round, with the worth of the worse one.
pub fn ratio(own: &Figure<'_>, other: &Figure<'_>) -> Option<Graded> {
    let estimate = runs::ratio_of(&own.runs.ratios(&other.runs))?;
    Some(Graded { estimate, grade: own.grade.max(other.grade) })
}

/// Values by their keys, in the order in which the keys first appear.
pub fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// A flag as it is typed.
pub fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

/// One object, with the key's fields beside those of the outcome.
impl Serialize for Figure<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            #[serde(flatten)]
            key: &'a Key,
            over: Option<&'a String>,
            metric: &'a Metric,
            quantity: &'static str,
            baseline: Option<&'a String>,
            versus: Option<&'a String>,
            #[serde(flatten)]
            outcome: &'a Outcome,
            grade: Grade,
            doubts: &'a [Doubt],
        }
        let line = Line {
            key: &self.key,
            over: self.runs.place.case.over.as_ref(),
            metric: self.metric(),
            quantity: self.quantity().name(),
            baseline: self.runs.baseline(),
            versus: self.runs.versus(),
            outcome: &self.outcome,
            grade: self.grade,
            doubts: &self.doubts,
        };
        line.serialize(serializer)
    }
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

    /// Doubts about all figures, their records and the machine meanwhile, the loudest first.
    pub fn doubts(&self) -> Vec<Stated> {
        let conditions = Conditions::of(self).doubts(self);
        doubts::of_all(self.records, doubts::named(self.iter()), conditions)
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
