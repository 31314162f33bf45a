//! The processes of one case, and their figures round by round.

use std::collections::BTreeMap;

use contract::message::Distribution;
pub(crate) use record::plan::case_name;
use record::{Ending, Metric, Place, Record, Side};
use serde::Serialize;
use stats::Estimate;

use super::basis::CONFIDENCE;
use super::number::capitalised;
use super::speed::{Round, Timed, round};

/// Place of a figure: section, row, column, the value of the swept flag, and the side of a duel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// Title of the section.
    pub section: String,
    /// Row.
    pub row: String,
    /// Column; empty if there is one alone.
    pub column: String,
    /// Value of the swept flag.
    pub x: Option<u64>,
    /// Side of a duel; the first one of all else.
    #[serde(skip)]
    pub(crate) side: Side,
}

impl Key {
    /// Name of the case: its row, and its column if there are several.
    pub(crate) fn name(&self) -> String {
        case_name(&self.row, &self.column)
    }
}

/// A process within its case: the round, the number of tasks, and whether it is a twin.
type Slot = (Round, Option<u64>, bool);

/// Processes of one case.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// Place of the case in the plan; of the first record.
    pub(crate) place: Place<'a>,
    pub(crate) metric: Metric,
    /// Position among all figures of a process, 0 for its section's own metric. Any other is a further
    /// column: it has no baseline and is compared with no row.
    pub(crate) position: usize,
    /// Processes that measured what they should, twins apart.
    pub(crate) whole: Vec<&'a Record>,
    /// Number of processes that failed and were not repeated with more success.
    pub(crate) failed: usize,
    /// Ending of the last process that failed.
    pub(crate) ending: Ending<'a>,
    /// The process of each slot; if it was repeated, the later one.
    slots: BTreeMap<Slot, Timed<'a>>,
}

/// Figures of a process: of each the key, the metric and the position.
pub(crate) fn places(record: &Record) -> Vec<(Key, Metric, usize)> {
    let Some(Place { section, case, .. }) = record.place() else { return Vec::new() };
    let key = Key {
        section: section.title.clone(),
        row: case.row.clone(),
        column: case.column.clone(),
        x: record.row.x.filter(|_| case.over.is_some()),
        side: record.row.side.unwrap_or(Side::A),
    };
    let further = section.also.iter().map(|also| {
        // A point of a curve has one height: another figure is another curve.
        if case.over.is_some() {
            let title = match &section.swept {
                Some(swept) => format!("{} over {swept}", capitalised(&also.name)),
                None => format!("{}: {}", section.title, also.name),
            };
            (Key { section: title, ..key.clone() }, also.metric.clone())
        } else {
            (Key { column: also.heading(&case.column), ..key.clone() }, also.metric.clone())
        }
    });
    let all = [(key.clone(), section.metric.clone())].into_iter().chain(further);
    all.enumerate().map(|(position, (key, metric))| (key, metric, position)).collect()
}

impl<'a> Runs<'a> {
    pub(crate) fn new(place: Place<'a>, metric: Metric, position: usize) -> Self {
        let (whole, slots) = (Vec::new(), BTreeMap::new());
        Runs { place, metric, position, whole, failed: 0, ending: Ending::Measured, slots }
    }

    /// Adds a process. One that was repeated, after a failure for one, counts once; but not a good one that
    /// is followed by a failure.
    pub(crate) fn add(&mut self, timed: &Timed<'a>) {
        let record = timed.record;
        let slot = (round(record), record.row.tasks, record.row.twin);
        let is_worse = |earlier: &Timed<'_>| earlier.record.is_whole() && !record.is_whole();
        if !self.slots.get(&slot).is_some_and(is_worse) {
            self.slots.insert(slot, timed.clone());
        }
    }

    pub(crate) fn settle(&mut self) {
        for (&(_, _, twin), &Timed { record, .. }) in &self.slots {
            if record.outcome() != Ending::Measured {
                // What a process measured before it failed stays in the file, but it is no sample.
                self.failed += 1;
                self.ending = record.outcome();
            } else if record.is_whole() && !twin {
                self.whole.push(record);
            }
        }
    }

    /// True if it shows another metric than its section's own.
    pub fn is_further(&self) -> bool {
        self.position > 0
    }

    pub(crate) fn baseline(&self) -> Option<&'a String> {
        self.place.case.baseline.as_ref().filter(|_| !self.is_further())
    }

    pub(crate) fn versus(&self) -> Option<&'a String> {
        self.place.case.versus.as_ref().filter(|_| !self.is_further())
    }

    /// CPU time of each process per hop, or per what else its time is divided by: as the kernel counted it, corrected as
    /// the time is, in ns. A process that does not count CPU time is left out.
    pub(crate) fn cpu_times(&self) -> Vec<(Round, &'a Record, f64)> {
        let times = self.processes(false).filter_map(|(round, timed)| {
            let ns = Metric::Cpu.figure(timed.record, None)? * timed.factor();
            Some((round, timed.record, ns))
        });
        times.collect()
    }

    /// True if its processes were restricted to CPUs.
    pub(crate) fn is_pinned(&self) -> bool {
        self.whole.first().is_some_and(|record| record.row.cpus.is_some())
    }

    /// True if they depend on the machine alone, and on no scheduler's placement.
    pub(crate) fn is_yardstick(&self) -> bool {
        self.place.case.yardstick && self.is_pinned()
    }

    /// Processes that measured what they should, or their twins, in the order of the rounds.
    pub(crate) fn processes(&self, twins: bool) -> impl Iterator<Item = (Round, &Timed<'a>)> {
        let all = self.slots.iter().map(|(&(round, _, twin), timed)| (round, twin, timed));
        let own = all.filter(move |(_, twin, timed)| *twin == twins && timed.record.is_whole());
        own.map(|(round, _, timed)| (round, timed))
    }

    pub(crate) fn means(&self) -> BTreeMap<Round, f64> {
        self.figures(|timed| timed.iteration())
    }

    /// The same with the error of the correction: for intervals.
    pub(crate) fn with_errors(&self) -> BTreeMap<Round, f64> {
        self.figures(|timed| timed.with_error())
    }

    fn figures(&self, iteration: fn(&Timed<'_>) -> Option<f64>) -> BTreeMap<Round, f64> {
        // Of several processes in a round the last one.
        let last: BTreeMap<Round, &Timed<'_>> = self.processes(false).collect();
        let figure = |timed: &Timed<'_>| self.metric.figure(timed.record, iteration(timed));
        last.into_iter().filter_map(|(round, timed)| Some((round, figure(timed)?))).collect()
    }

    /// Another figure of the iterations of each process, divided as their mean is, and multiplied by a factor.
    fn each(
        &self,
        figure: impl Fn(&Distribution) -> u64,
        factor: impl Fn(&Timed<'a>) -> f64,
    ) -> Vec<f64> {
        let each = self.processes(false).filter_map(|(_, timed)| {
            let samples = timed.record.samples.as_ref()?;
            Some(figure(samples) as f64 * factor(timed) / self.metric.divisor(timed.record)?)
        });
        each.collect()
    }

    pub(crate) fn median_of(&self, figure: impl Fn(&Distribution) -> u64) -> Option<f64> {
        stats::median(&self.each(figure, Timed::factor))
    }

    /// Distribution of the iterations, if the figure is their time.
    pub(crate) fn iterations(&self) -> Option<Iterations> {
        Some(Iterations {
            min: self.each(|s| s.min, |_| 1.0).into_iter().reduce(f64::min)?,
            percentiles: [
                self.median_of(|s| s.p50)?,
                self.median_of(|s| s.p90)?,
                self.median_of(|s| s.p99)?,
                self.each(|s| s.max, |_| 1.0).into_iter().reduce(f64::max)?,
            ],
        })
    }

    pub(crate) fn less(&self, baseline: &Runs<'_>) -> BTreeMap<Round, f64> {
        joined(&self.with_errors(), &baseline.with_errors(), |own, other| own - other)
    }

    /// True if it is above another case, round by round: the interval of the difference excludes zero.
    pub(crate) fn is_above(&self, other: &Runs<'_>) -> bool {
        let less: Vec<f64> = self.less(other).into_values().collect();
        let interval = Estimate::mean(&less, CONFIDENCE).and_then(|mean| mean.interval);
        interval.is_some_and(|interval| interval.low > 0.0)
    }

    /// Divided by another case, round by round.
    pub(crate) fn ratio(&self, other: &Runs<'_>) -> Option<Estimate> {
        quotient(&self.with_errors(), &other.with_errors())
    }

    /// Beside the machine's own time of each round: a time divided by it, a rate multiplied by it.
    pub(crate) fn beside(&self, machine: &BTreeMap<Round, f64>) -> Vec<f64> {
        let is_rate = self.metric.is_per_second();
        let beside = |own: f64, time: f64| if is_rate { own * time } else { own / time };
        joined(&self.with_errors(), machine, beside).into_values().collect()
    }

    /// Divided by its twins: nothing but noise. Of programs that took turns, slices of the same turn are
    /// divided: the slope of both is the same.
    pub(crate) fn twin_ratios(&self) -> Vec<f64> {
        let own: BTreeMap<Round, &Timed<'_>> = self.processes(false).collect();
        let twins: BTreeMap<Round, &Timed<'_>> = self.processes(true).collect();
        let figure = |timed: &Timed<'_>| self.metric.figure(timed.record, timed.iteration());
        let ratios = own.into_iter().filter_map(|(round, own)| {
            let twin = twins.get(&round)?;
            if self.metric.follows_iteration() {
                Some(own.log_ratio(twin)?.exp())
            } else {
                Some(figure(own)? / figure(twin)?)
            }
        });
        ratios.collect()
    }

    /// Distance of the two equal processes of each round that has two: the logarithm of the larger figure
    /// over the smaller one.
    pub(crate) fn apart(&self) -> Vec<f64> {
        let distances = self.twin_ratios().into_iter().map(|ratio| ratio.ln().abs());
        distances.filter(|distance| distance.is_finite()).collect()
    }
}

/// Figures of two cases put together in each round that has both.
pub(super) fn joined(
    own: &BTreeMap<Round, f64>,
    others: &BTreeMap<Round, f64>,
    together: impl Fn(f64, f64) -> f64,
) -> BTreeMap<Round, f64> {
    let both = own.iter().filter_map(|(round, own)| Some((*round, *own, *others.get(round)?)));
    both.map(|(round, own, other)| (round, together(own, other))).collect()
}

/// Distribution of a case's iterations; divided by hops or tasks as their mean is.
#[derive(Clone, Debug, Serialize)]
pub struct Iterations {
    pub(crate) min: f64,
    /// 50th, 90th and 99th percentile of the iteration at the quiet speed, medians of the processes', and the
    /// longest iteration of all.
    pub(crate) percentiles: [f64; 4],
}

/// One case divided by another in the rounds that both have.
pub(crate) fn quotient(a: &BTreeMap<Round, f64>, b: &BTreeMap<Round, f64>) -> Option<Estimate> {
    ratio_of(&joined(a, b, |a, b| a / b).into_values().collect::<Vec<_>>())
}

/// Estimate of ratios, one of each round.
pub(crate) fn ratio_of(ratios: &[f64]) -> Option<Estimate> {
    Estimate::ratio(ratios, &vec![1.0; ratios.len()], CONFIDENCE)
}
