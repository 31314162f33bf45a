//! The processes of one case, and their figures round by round.

use std::collections::BTreeMap;

use contract::message::Distribution;
use facts::{Ending, Metric, Place, Record, Section};
use serde::Serialize;
use stats::Estimate;

use crate::figures::CONFIDENCE;
use crate::figures::number::capitalised;
use crate::measure::quiet;

/// Place of a figure: section, row, column, and the value of the swept flag.
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
}

impl Key {
    /// Name of the case: its row, and its column if there are several.
    pub fn name(&self) -> String {
        case_name(&self.row, &self.column)
    }
}

/// Name of a case: its row, and its column if there are several.
pub fn case_name(row: &str, column: &str) -> String {
    if column.is_empty() { row.to_owned() } else { format!("{row}, {column}") }
}

/// A round: files can hold several runs of a plan, told apart by when they began and by their seeds.
pub(super) type Round = (u64, u64, u32);

/// A process within its case: the round, the number of tasks, and whether it is a twin.
type Slot = (Round, Option<u64>, bool);

/// Processes of one case.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// Place of the case in the plan; of the first record.
    pub place: Place<'a>,
    /// Figure of each process.
    pub metric: Metric,
    /// Position among all figures of a process, 0 for its section's own metric. Any other is a further
    /// column: it has no baseline and is compared with no row.
    pub(super) position: usize,
    /// Processes that measured what they should, twins apart.
    pub whole: Vec<&'a Record>,
    /// Number of processes that failed and were not repeated with more success.
    pub failed: usize,
    /// Ending of the last process that failed.
    pub ending: Ending<'a>,
    /// The process of each slot; if it was repeated, the later one.
    slots: BTreeMap<Slot, &'a Record>,
}

/// Figures of a process: of each the key, the metric and the position.
pub(super) fn places(record: &Record) -> Vec<(Key, Metric, usize)> {
    let Some(Place { section, case, .. }) = record.place() else {
        return Vec::new();
    };
    let key = Key {
        section: section.title.clone(),
        row: case.row.clone(),
        column: case.column.clone(),
        x: record.x.filter(|_| case.over.is_some()),
    };
    let further = section.also.iter().map(|also| {
        // A point of a curve has one height: another figure is another curve.
        if let Some(over) = &case.over {
            let title = match swept(section, over) {
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

/// What the curves of a sweep run over. Old records do not hold it: it is the flag alone, if the title names no more.
fn swept(section: &Section, over: &str) -> Option<String> {
    section.swept.clone().or_else(|| {
        let flag = super::flag(over);
        (section.title == section.metric.title_over(&flag)).then_some(flag)
    })
}

impl<'a> Runs<'a> {
    pub(super) fn new(place: Place<'a>, metric: Metric, position: usize) -> Self {
        let (whole, slots) = (Vec::new(), BTreeMap::new());
        Runs { place, metric, position, whole, failed: 0, ending: Ending::Measured, slots }
    }

    /// Adds a process. One that was repeated, after a failure for one, counts once; but not a good one that
    /// is followed by a failure.
    pub(super) fn add(&mut self, record: &'a Record) {
        let round = (record.run, record.header.seed, record.round);
        let slot = (round, record.tasks, record.twin);
        let is_worse = |earlier: &&Record| earlier.is_whole() && !record.is_whole();
        if !self.slots.get(&slot).is_some_and(is_worse) {
            self.slots.insert(slot, record);
        }
    }

    /// Sorts the processes, once all are there.
    pub(super) fn settle(&mut self) {
        for (&(_, _, twin), &record) in &self.slots {
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

    /// Row that is subtracted in each round.
    pub fn baseline(&self) -> Option<&'a String> {
        self.place.case.baseline.as_ref().filter(|_| !self.is_further())
    }

    /// Row that is divided by in each round.
    pub fn versus(&self) -> Option<&'a String> {
        self.place.case.versus.as_ref().filter(|_| !self.is_further())
    }

    /// True if its processes were restricted to CPUs.
    pub fn is_pinned(&self) -> bool {
        self.whole.first().is_some_and(|record| record.cpus.is_some())
    }

    /// Processes that measured what they should, or their twins, by round.
    fn by_round(&self, twins: bool) -> BTreeMap<Round, &'a Record> {
        let slots = self.slots.iter().filter(|((_, _, twin), r)| r.is_whole() && *twin == twins);
        slots.map(|(&(round, _, _), &record)| (round, record)).collect()
    }

    /// Figure of each process by round.
    pub fn means(&self) -> BTreeMap<Round, f64> {
        let processes = self.by_round(false).into_iter();
        processes.filter_map(|(round, r)| Some((round, self.metric.figure(r)?))).collect()
    }

    /// Another figure of the iterations of each process, divided as their mean is.
    fn each(&self, figure: impl Fn(&Distribution) -> u64) -> Vec<f64> {
        let each = self.whole.iter().filter_map(|record| {
            let samples = record.samples.as_ref()?;
            Some(figure(samples) as f64 / self.metric.divisor(record)?)
        });
        each.collect()
    }

    pub(super) fn median_of(&self, figure: impl Fn(&Distribution) -> u64) -> Option<f64> {
        stats::median(&self.each(figure))
    }

    /// Distribution of the iterations, if the figure is their time.
    pub(super) fn iterations(&self) -> Option<Iterations> {
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

    /// Less another case, by round.
    pub(super) fn less(&self, baseline: &Runs<'_>) -> BTreeMap<Round, f64> {
        let baseline = baseline.means();
        let own = self.means().into_iter();
        own.filter_map(|(round, own)| Some((round, own - baseline.get(&round)?))).collect()
    }

    /// Divided by another case, one ratio for each round that has both. Of programs that took turns, slices
    /// of the same turn are divided.
    pub(crate) fn ratios(&self, other: &Runs<'_>) -> Vec<f64> {
        self.against(other, false, |own, other| own / other)
    }

    /// Divided by its twins: nothing but noise.
    pub(super) fn twin_ratios(&self) -> Vec<f64> {
        self.against(self, true, |own, other| own / other)
    }

    /// Beside a yardstick, one figure for each round: a time divided by its time, a rate multiplied by it.
    pub fn beside(&self, yardstick: &Runs<'_>) -> Vec<f64> {
        let is_rate = self.metric.is_per_second();
        self.against(yardstick, false, |own, time| if is_rate { own * time } else { own / time })
    }

    /// Distance of the two equal processes of each round that has two: the logarithm of the larger figure
    /// over the smaller one.
    pub fn apart(&self) -> Vec<f64> {
        let distances = self.twin_ratios().into_iter().map(|ratio| ratio.ln().abs());
        distances.filter(|distance| distance.is_finite()).collect()
    }

    /// Figures put together with those of another case, or of its twins, in each round that has both. Of
    /// programs that took turns the other's time is 1, and the own time that beside it in the same turns.
    fn against(
        &self,
        other: &Runs<'_>,
        twins: bool,
        together: impl Fn(f64, f64) -> f64,
    ) -> Vec<f64> {
        let others = other.by_round(twins);
        let own = self.by_round(false).into_iter();
        let both: Vec<(Round, &Record, &Record)> =
            own.filter_map(|(round, own)| Some((round, own, *others.get(&round)?))).collect();
        let factors = both.iter().map(|&(round, a, b)| {
            let took_turns = !a.slices.is_empty() && !b.slices.is_empty();
            let factors = (self.metric.factor(a)?, other.metric.factor(b)?);
            took_turns.then_some((round, factors))
        });
        if let Some(factors) = factors.collect::<Option<BTreeMap<Round, (f64, f64)>>>() {
            let sign = if self.metric.is_per_second() { -1.0 } else { 1.0 };
            let ratios = quiet::log_ratios(both).into_iter().map(|(round, log)| {
                let (own, other) = factors[&round];
                together((sign * log).exp() * own, other)
            });
            return ratios.collect();
        }
        let figures = both.into_iter().filter_map(|(_, a, b)| {
            Some(together(self.metric.figure(a)?, other.metric.figure(b)?))
        });
        figures.collect()
    }
}

/// Distribution of a case's iterations; divided by hops or tasks as their mean is.
#[derive(Clone, Debug, Serialize)]
pub struct Iterations {
    /// The shortest iteration of all.
    pub min: f64,
    /// 50th, 90th and 99th percentile of the iteration, medians of the processes', and the longest
    /// iteration of all.
    pub percentiles: [f64; 4],
}

/// One case divided by another in the rounds that both have.
pub(super) fn quotient(a: &BTreeMap<Round, f64>, b: &BTreeMap<Round, f64>) -> Option<Estimate> {
    let both = a.iter().filter_map(|(round, &a)| Some((a, *b.get(round)?)));
    let (a, b): (Vec<f64>, Vec<f64>) = both.unzip();
    Estimate::ratio(&a, &b, CONFIDENCE)
}

/// Estimate of ratios, one of each round.
pub(crate) fn ratio_of(ratios: &[f64]) -> Option<Estimate> {
    Estimate::ratio(ratios, &vec![1.0; ratios.len()], CONFIDENCE)
}

#[cfg(test)]
mod tests {
    use facts::{Also, Case, Process};

    use super::*;
    use crate::testing;

    #[test]
    fn a_further_curve_is_titled_by_what_its_section_holds() {
        let hop = Metric::Hop;
        for (title, swept, expected) in [
            (
                "Time per hop over --idle, 9 tasks",
                Some("--idle, 9 tasks"),
                "Busy CPUs over --idle, 9 tasks",
            ),
            ("It drifts over the day", None, "It drifts over the day: busy CPUs"),
            // Old records.
            ("Time per hop over --idle", None, "Busy CPUs over --idle"),
            (
                "Time per hop over --idle, 9 tasks",
                None,
                "Time per hop over --idle, 9 tasks: busy CPUs",
            ),
        ] {
            let section = title.to_owned();
            let case = Case { section, over: Some("idle".to_owned()), ..Case::default() };
            let mut record = testing::in_case(hop.clone(), case, Process::of("p", Vec::new()));
            let section = &mut std::sync::Arc::make_mut(&mut record.header).plan.sections[0];
            section.swept = swept.map(str::to_owned);
            section.also = vec![Also { name: "busy CPUs".to_owned(), metric: Metric::CpuShare }];
            assert_eq!(places(&record)[1].0.section, expected);
        }
    }
}
