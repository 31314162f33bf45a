//! Records sorted into cases, and what the runs of one case come to.

use std::collections::BTreeMap;

use harness::record::{Metric, PlanPosition, Record};
use harness::recorder::Summary;
use serde::Serialize;

use crate::analysis::CONFIDENCE;
use crate::evidence::Evidence;
use crate::stats::{self, Estimate, Interval, Mode};

/// What is read off the runs of a case: a time for each hop or task, in ns.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// The mean of the process means.
    pub mean: Estimate,
    /// The process means, in the order of the rounds.
    pub means: Vec<f64>,
    /// The median of the process medians.
    pub median: f64,
    /// The shortest iteration of all.
    pub min: f64,
    /// 50th, 90th and 99th percentile of the iteration, medians of the processes', and the longest
    /// iteration of all; divided by hops or tasks as the mean is.
    pub percentiles: [f64; 4],
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
    /// Whether that ratio is missing because one of the two is not above its baseline in every
    /// round: what is nothing or less cannot be divided by.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_net_left: bool,
    /// Divided by its twin, round by round: what nothing but noise amounts to.
    pub noise: Option<Interval>,
    /// What the counters of its runs say of it.
    pub evidence: Option<Evidence>,
}

/// A case, as far as it tells its records from those of other cases.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// The section's title.
    pub section: String,
    /// The row.
    pub row: String,
    /// The column.
    pub column: String,
    /// The value of the swept flag.
    pub x: Option<u64>,
}

/// A round: files can hold several runs of a plan, told apart by when they began and by their
/// seeds.
type Round = (u64, u64, u32);

/// A run's place in its case: the round, the number of tasks, and whether it is a twin.
type Place = (Round, Option<u64>, bool);

/// The runs of one case.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// Where the case stands; of the first record.
    pub position: &'a PlanPosition,
    /// What is shown of each record: the plan's metric, or one of those that it stands for.
    pub metric: Metric,
    /// The runs that measured what they should, by round. Where a round was repeated, the later
    /// run counts.
    good: BTreeMap<Round, &'a Record>,
    /// The second runs of the rounds that have two.
    twins: BTreeMap<Round, &'a Record>,
    /// Every run that measured what it should. Unlike `good`, it has several of a round where
    /// they differ in a flag, as task counts of a slope do.
    pub all: Vec<&'a Record>,
    /// How many runs did not, and were not repeated with more success.
    pub failed: usize,
    /// Why the last of them did not.
    pub reason: Option<&'a str>,
    /// The last run of each place.
    runs: BTreeMap<Place, &'a Record>,
}

/// All cases of some records.
#[derive(Clone, Debug, Default)]
pub struct Cases<'a>(BTreeMap<Key, Runs<'a>>);

/// What is shown of the records in a place of the plan: the heading and the metric, or several.
fn views(position: &PlanPosition) -> Vec<(String, Metric)> {
    let phases = [
        ("set-up, per task", Metric::SetUp),
        ("the very first iteration, per hop", Metric::FirstIteration),
        ("teardown, per task", Metric::Teardown),
    ];
    match position.metric {
        Metric::Scale => phases
            .map(|(phase, metric)| (format!("{}: {phase}", position.section), metric))
            .to_vec(),
        metric => vec![(position.section.clone(), metric)],
    }
}

impl Key {
    /// Whether a record belongs to this case.
    pub fn is_of(&self, position: &PlanPosition, record: &Record) -> bool {
        views(position)
            .into_iter()
            .any(|(section, _)| Key::of(section, position, record) == *self)
    }

    /// The case that a record belongs to, under one of the headings that [`views`] gives.
    fn of(section: String, position: &PlanPosition, record: &Record) -> Self {
        Key {
            section,
            row: position.row.clone(),
            column: position.column.clone(),
            x: position.over.as_ref().and_then(|flag| record.param(flag)),
        }
    }
}

impl<'a> Cases<'a> {
    /// Sorts records; those of runs by hand are passed over.
    pub fn of(records: &'a [Record]) -> Self {
        let mut cases: BTreeMap<Key, Runs<'_>> = BTreeMap::new();
        for record in records {
            let Some(position) = &record.plan else {
                continue;
            };
            for (section, metric) in views(position) {
                cases
                    .entry(Key::of(section, position, record))
                    .or_insert_with(|| Runs::at(position, metric))
                    .add(position, record);
            }
        }
        cases.values_mut().for_each(Runs::settle);
        Cases(cases)
    }

    /// The cases in the plan's order, points of a curve by what it runs over.
    pub fn in_order(&self) -> Vec<(&Key, &Runs<'a>)> {
        let mut cases: Vec<_> = self.0.iter().collect();
        cases.sort_by_key(|(key, runs)| (runs.position.index, runs.metric, key.x));
        cases
    }

    /// One case.
    pub fn get(&self, key: &Key) -> Option<&Runs<'a>> {
        self.0.get(key)
    }

    /// The same case of another row.
    fn neighbour(&self, key: &Key, row: Option<&String>) -> Option<(Key, &Runs<'a>)> {
        let key = Key {
            row: row?.clone(),
            ..key.clone()
        };
        let runs = self.0.get(&key)?;
        Some((key, runs))
    }

    /// The row that a case is compared with.
    pub fn versus(&self, key: &Key) -> Option<(Key, &Runs<'a>)> {
        self.neighbour(key, self.0.get(key)?.position.versus.as_ref())
    }

    /// Whether a case is what others of its column are measured against.
    pub fn is_baseline(&self, key: &Key) -> bool {
        self.0.iter().any(|(other, runs)| {
            runs.position.baseline.as_ref() == Some(&key.row)
                && (&other.section, &other.column) == (&key.section, &key.column)
        })
    }

    fn baseline(&self, key: &Key) -> Option<&Runs<'a>> {
        let (_, runs) = self.neighbour(key, self.0.get(key)?.position.baseline.as_ref())?;
        Some(runs)
    }

    /// What the runs of a case come to; `None` where there are no samples.
    pub fn reading(&self, key: &Key) -> Option<Reading> {
        let runs = self.0.get(key)?;
        let own = runs.means();
        let means: Vec<f64> = own.values().copied().collect();
        let net = self.net(key);
        let versus = self.versus(key);
        let ratio = versus
            .as_ref()
            .and_then(|(_, versus)| quotient(&own, &versus.means()));
        let nets = net
            .as_ref()
            .zip(versus.and_then(|(versus, _)| self.net(&versus)));
        let net_ratio = nets.as_ref().and_then(|(own, other)| quotient(own, other));
        let no_net_left = nets.is_some_and(|(own, other)| {
            let below = |(round, net): (&Round, &f64)| {
                other.get(round).is_some_and(|other| net.min(*other) <= 0.0)
            };
            own.iter().any(below)
        });
        Some(Reading {
            mean: Estimate::mean(&means, CONFIDENCE)?,
            median: runs.median_of(|s| s.p50)?,
            min: runs.each(|s| s.min as f64).into_values().reduce(f64::min)?,
            percentiles: [
                runs.median_of(|s| s.p50)?,
                runs.median_of(|s| s.p90)?,
                runs.median_of(|s| s.p99)?,
                runs.each(|s| s.max as f64).into_values().reduce(f64::max)?,
            ],
            modes: stats::modes(&means),
            outliers: stats::tukey_outliers(&means).map_or(0, |o| o.total()),
            failed: runs.failed,
            net: net.and_then(|net| {
                let net: Vec<f64> = net.into_values().collect();
                Estimate::mean(&net, CONFIDENCE)
            }),
            ratio,
            net_ratio,
            no_net_left,
            noise: ratio_of_twins(runs),
            evidence: Evidence::of(&runs.all, runs.metric),
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
    fn at(position: &'a PlanPosition, metric: Metric) -> Self {
        Runs {
            position,
            metric,
            good: BTreeMap::new(),
            twins: BTreeMap::new(),
            all: Vec::new(),
            failed: 0,
            reason: None,
            runs: BTreeMap::new(),
        }
    }

    fn add(&mut self, position: &PlanPosition, record: &'a Record) {
        let round = (position.run, position.seed, position.round);
        let place = (round, record.tasks(), position.twin);
        // A run that was repeated, after a failure for one, counts once; but not a good one that
        // is followed by a failure.
        let is_good = |record: &Record| record.error.is_none() && !record.partial;
        match self.runs.get(&place) {
            Some(earlier) if is_good(earlier) && !is_good(record) => {}
            _ => {
                self.runs.insert(place, record);
            }
        }
    }

    /// Sorts the runs out, once all are there.
    fn settle(&mut self) {
        for (&(round, _, twin), &record) in &self.runs {
            match (&record.error, record.partial, twin) {
                // What a run measured before it failed stays in the file, but it is no sample.
                (Some(error), _, _) => {
                    self.failed += 1;
                    self.reason = Some(error);
                }
                // Somebody stopped it: no sample, and no failure.
                (None, true, _) => {}
                (None, false, true) => {
                    self.twins.insert(round, record);
                }
                (None, false, false) => {
                    self.good.insert(round, record);
                    self.all.push(record);
                }
            }
        }
    }

    /// The process means, for each hop or task, in ns.
    pub fn means(&self) -> BTreeMap<Round, f64> {
        self.each(|samples| samples.mean)
    }

    /// A figure of the iterations of each process, for each hop or task; of a phase that a process
    /// goes through once, the time that it takes.
    fn each(&self, figure: impl Fn(&Summary) -> f64) -> BTreeMap<Round, f64> {
        self.figures(&self.good, figure)
    }

    fn figures(
        &self,
        records: &BTreeMap<Round, &Record>,
        figure: impl Fn(&Summary) -> f64,
    ) -> BTreeMap<Round, f64> {
        let value = |record: &Record| {
            let tasks = || Some(record.tasks()? as f64);
            let (time, parts) = match self.metric {
                Metric::Hop => (figure(record.samples.as_ref()?), record.hops? as f64),
                Metric::Task | Metric::Memory | Metric::Scale => (
                    figure(record.samples.as_ref()?),
                    tasks()? * record.param("tokens").unwrap_or(1) as f64,
                ),
                Metric::FirstIteration => {
                    (record.first_iteration? as f64, record.repeats()?.0 as f64)
                }
                Metric::SetUp => (record.setup? as f64, tasks()?),
                Metric::Teardown => (record.teardown? as f64, tasks()?),
            };
            Some(time / parts)
        };
        records
            .iter()
            .filter_map(|(&round, record)| Some((round, value(record)?)))
            .collect()
    }

    fn median_of(&self, figure: impl Fn(&Summary) -> u64) -> Option<f64> {
        let figures: Vec<f64> = self.each(|s| figure(s) as f64).into_values().collect();
        stats::median(&figures)
    }
}

/// One case divided by another in the rounds that both have.
fn quotient(a: &BTreeMap<Round, f64>, b: &BTreeMap<Round, f64>) -> Option<Estimate> {
    let (a, b): (Vec<f64>, Vec<f64>) = a
        .iter()
        .filter_map(|(round, &a)| Some((a, *b.get(round)?)))
        .unzip();
    Estimate::ratio(&a, &b, CONFIDENCE)
}

fn ratio_of_twins(runs: &Runs<'_>) -> Option<Interval> {
    let twins = runs.figures(&runs.twins, |samples| samples.mean);
    quotient(&runs.means(), &twins)?.interval
}
