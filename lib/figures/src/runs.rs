//! The trials of one row, and their figures round by round.

use std::collections::BTreeMap;

use contract::message::Distribution;
use record::{Metric, Place, Record, Row, Ties, Why};

use super::basis::joined;
use super::session_spread::SessionSpread;
use super::speed::{self, Round, Timed, round};

/// Trials of one row, and one figure of them.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// Where the figure stands.
    pub place: Place,
    /// Row of the first trial.
    pub row: &'a Row,
    /// Trials that measured what they should.
    pub whole: Vec<&'a Record>,
    /// Number of trials that failed and were not repeated with more success.
    pub failed: usize,
    /// Why the last trial that failed has no figure.
    pub why: Option<Why>,
    /// Its round.
    pub(crate) failed_in: u32,
    /// The trial of each round and row: a slope has many rows. Of a repeated trial, the later one.
    slots: BTreeMap<(Round, u32), Timed<'a>>,
}

/// Places of all figures of a row's trials, its own first.
pub(crate) fn places(row: &Row) -> Vec<Place> {
    // A slope is one figure of all its points.
    let place = Place { x: row.place.x.filter(|_| row.swept.is_some()), ..row.place.clone() };
    let further = row.also.iter().map(|also| {
        let (column, metric) = (also.heading(&place.column), also.metric.clone());
        Place { column, metric, ..place.clone() }
    });
    [place.clone()].into_iter().chain(further).collect()
}

impl<'a> Runs<'a> {
    pub(crate) fn new(place: Place, row: &'a Row) -> Self {
        let (whole, slots) = (Vec::new(), BTreeMap::new());
        Runs { place, row, whole, failed: 0, why: None, failed_in: 0, slots }
    }

    /// Adds a trial. It replaces an earlier one of the same round, unless it failed and the earlier one did not.
    pub(crate) fn add(&mut self, timed: &Timed<'a>) {
        let record = timed.record;
        let slot = (round(record), record.trial.row);
        let earlier = self.slots.get(&slot).map(|earlier| earlier.record);
        if record.is_whole() || !earlier.is_some_and(|earlier| earlier.is_whole()) {
            self.slots.insert(slot, timed.clone());
        }
    }

    pub(crate) fn settle(&mut self) {
        for &Timed { record, .. } in self.slots.values() {
            if let Some(why) = record.why() {
                // What a process measured before it failed stays in the file, but it is no sample.
                self.failed += 1;
                (self.why, self.failed_in) = (Some(why), record.round);
            } else if record.is_whole() {
                self.whole.push(record);
            }
        }
    }

    /// How many trials have no figure, such as `5 not run`; `None` if all of them have it.
    pub fn lost(&self) -> Option<String> {
        Some(format!("{} {}", self.failed, self.why.as_ref()?.word()))
    }

    /// Start and seed of its run, or of the first of several.
    pub(crate) fn session(&self) -> (u64, u64) {
        let first = self.slots.keys().next();
        first.map_or((0, 0), |&((run, seed, _), _)| (run, seed))
    }

    /// What the figure is.
    pub(crate) fn metric(&self) -> &Metric {
        &self.place.metric
    }

    /// What the figure is compared with; nothing, if it is not the row's own.
    pub fn ties(&self) -> Option<&'a Ties> {
        (self.place.metric == self.row.place.metric).then_some(&self.row.ties)
    }

    /// CPU time of each process per hop, or per what else its time is divided by: as the kernel counted it, corrected
    /// as the time is, in ns. A process that does not count CPU time is left out.
    pub(crate) fn cpu_times(&self) -> BTreeMap<Round, f64> {
        let times = self.processes().filter_map(|(round, timed)| {
            Some((round, Metric::Cpu.figure(timed.record, None)? * timed.factor()))
        });
        times.collect()
    }

    /// How far an estimate of this metric differs between sessions.
    pub(crate) fn between(&self, metric: &Metric, estimate: f64) -> SessionSpread {
        if metric.follows_iteration() && speed::are_asleep(&self.whole) {
            return SessionSpread::default();
        }
        let corrected = self.processes().filter_map(|(_, timed)| timed.corrected.as_ref());
        let hidden = corrected.map(|corrected| corrected.hidden).collect::<Vec<f64>>();
        let hidden = stats::median(&hidden).filter(|_| metric.follows_iteration()).unwrap_or(0.0);
        SessionSpread::of(metric.quantity(), self.is_pinned(), estimate, hidden)
    }

    /// True if its processes were restricted to CPUs.
    pub fn is_pinned(&self) -> bool {
        self.whole.first().is_some_and(|record| record.row().command.setting.cpus.is_some())
    }

    /// True if they depend on the machine alone, and on no scheduler's placement.
    pub fn is_yardstick(&self) -> bool {
        self.row.ties.yardstick && self.is_pinned()
    }

    /// Trials that measured what they should, in the order of the rounds.
    pub(crate) fn processes(&self) -> impl Iterator<Item = (Round, &Timed<'a>)> {
        let whole = self.slots.iter().filter(|(_, timed)| timed.record.is_whole());
        whole.map(|(&(round, _), timed)| (round, timed))
    }

    pub(crate) fn means(&self) -> BTreeMap<Round, f64> {
        self.figures(|timed| timed.iteration())
    }

    /// The same with the error of the correction: for intervals.
    pub fn with_errors(&self) -> BTreeMap<Round, f64> {
        self.figures(|timed| timed.with_error())
    }

    fn figures(&self, iteration: fn(&Timed<'_>) -> Option<f64>) -> BTreeMap<Round, f64> {
        // Of several processes in a round the last one.
        let last: BTreeMap<Round, &Timed<'_>> = self.processes().collect();
        let figures = last.into_iter().filter_map(|(round, timed)| {
            Some((round, self.place.metric.figure(timed.record, iteration(timed))?))
        });
        figures.collect()
    }

    /// Another figure of the iterations of each process, divided as their mean is, and multiplied by a factor.
    fn each(
        &self,
        figure: impl Fn(&Distribution) -> u64,
        factor: impl Fn(&Timed<'a>) -> f64,
    ) -> Vec<f64> {
        let each = self.processes().filter_map(|(_, timed)| {
            let samples = timed.record.samples.as_ref()?;
            Some(figure(samples) as f64 * factor(timed) / self.place.metric.divisor(timed.record)?)
        });
        each.collect()
    }

    /// The shortest iteration; the 50th, 90th and 99th percentile at the quiet speed, medians of the trials'; and the
    /// longest iteration. `None` if the figure is not their time.
    pub(crate) fn iterations(&self) -> Option<[f64; 5]> {
        let median =
            |figure: fn(&Distribution) -> u64| stats::median(&self.each(figure, Timed::factor));
        Some([
            self.each(|s| s.min, |_| 1.0).into_iter().reduce(f64::min)?,
            median(|s| s.p50)?,
            median(|s| s.p90)?,
            median(|s| s.p99)?,
            self.each(|s| s.max, |_| 1.0).into_iter().reduce(f64::max)?,
        ])
    }

    /// Divided by another side, or by its twin, in each round that has both.
    pub(crate) fn by_turns(&self, other: &Runs<'_>) -> BTreeMap<Round, f64> {
        if !self.metric().follows_iteration() {
            let mut ratios = joined(&self.means(), &other.means(), |own, other| own / other);
            ratios.retain(|_, ratio| ratio.is_finite());
            return ratios;
        }
        let ratios = self.log_ratios(other, |own, other| own.log_ratio(other)).into_iter();
        ratios.map(|(round, log_ratio)| (round, log_ratio.exp())).collect()
    }

    /// Logarithm of its time divided by another side's, in each round that has both, by this ratio of two processes.
    pub(crate) fn log_ratios(
        &self,
        other: &Runs<'_>,
        ratio: fn(&Timed<'_>, &Timed<'_>) -> Option<f64>,
    ) -> BTreeMap<Round, f64> {
        // Of several processes in a round the last one.
        let divisors: BTreeMap<Round, &Timed<'_>> = other.processes().collect();
        let dividends: BTreeMap<Round, &Timed<'_>> = self.processes().collect();
        let ratios = dividends
            .into_iter()
            .filter_map(|(round, dividend)| Some((round, ratio(dividend, divisors.get(&round)?)?)));
        ratios.collect()
    }
}
