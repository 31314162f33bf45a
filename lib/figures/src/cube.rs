//! The cube of figures: what records say, by their places. It is made once for a file; tables,
//! curves, the answer, CSV and JSON are projections of it, comparisons are joins.
//!
//! The process is the sample: what is averaged here are the means of whole processes, never their iterations.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use record::{Place, Quantity, Record, Side, Why};
use stats::Estimate;

use super::basis::unique;
use super::doubts;
use super::evidence::Evidence;
use super::figure::{Figure, Outcome, Reading, Related};
use super::grade::Grade;
use super::memory;
use super::provenance;
use super::runs::{self, Runs};
use super::session_spread::SessionSpread;
use super::sessions;
use super::speed::{self, Levels, Speed};
use super::value::Value;

/// All figures of some records.
#[derive(Clone, Debug)]
pub struct Figures<'a> {
    pub records: &'a [Record],
    pub speed: Speed,
    /// Figures in the plan's order, points of a curve by what it runs over.
    figures: Vec<Figure<'a>>,
    index: BTreeMap<Place, usize>,
}

impl<'a> Figures<'a> {
    /// Figures of records. Of several sessions, each is a sample.
    pub fn of(records: &'a [Record]) -> Self {
        let levels = Levels::of(records);
        let mut figures = Figures::of_processes(records, &levels);
        let sessions = sessions::of(records);
        if sessions.len() > 1 {
            let sessions: Vec<Figures<'_>> = sessions
                .into_iter()
                .map(|session| Figures::of_processes(session, &levels))
                .collect();
            for figure in &mut figures.figures {
                let tried = sessions.iter().filter_map(|session| session.get(figure.place()));
                figure.combine(&tried.collect::<Vec<_>>());
            }
        }
        let related: Vec<Related> =
            figures.figures.iter().map(|figure| figures.related(figure)).collect();
        for (figure, related) in figures.figures.iter_mut().zip(related) {
            figure.related = related;
        }
        figures
    }

    /// Figures with each process as a sample.
    fn of_processes(records: &'a [Record], levels: &Levels) -> Self {
        let (timed, speed) = speed::correct(records, levels);
        let mut runs: BTreeMap<Place, Runs<'_>> = BTreeMap::new();
        let order = order(records);
        for timed in &timed {
            let row = timed.record.row();
            for place in runs::places(row) {
                runs.entry(place.clone()).or_insert_with(|| Runs::new(place, row)).add(timed);
            }
        }
        runs.values_mut().for_each(Runs::settle);
        count_failed_twins(&mut runs);
        let mut figures: Vec<Figure<'_>> = runs.into_values().map(Figure::of).collect();
        figures.sort_by_cached_key(|figure| {
            let Runs { place, row, .. } = &figure.runs;
            let metric = row.metrics().position(|metric| *metric == place.metric);
            (order[&row.place.cell()], metric, place.x)
        });
        let index = figures.iter().map(|figure| figure.place().clone()).zip(0..).collect();
        Figures { records, speed, figures, index }
    }

    /// Figures in the plan's order; of a duel, the first side's.
    pub fn iter(&self) -> impl Iterator<Item = &Figure<'a>> {
        self.figures.iter().filter(|figure| figure.place().side == Side::A)
    }

    /// Each row's own figures in a duel, in the plan's order: the first side's, its twin's and the second side's.
    pub(crate) fn sides(&self) -> impl Iterator<Item = [Option<&Figure<'a>>; 3]> {
        let figures = self.figures.iter().filter(|figure| figure.runs.ties().is_some());
        let places = unique(figures.map(|figure| figure.place().on(Side::A)));
        places
            .into_iter()
            .map(|place| [Side::A, Side::Twin, Side::B].map(|side| self.get(&place.on(side))))
    }

    /// The figure at a place.
    pub fn get(&self, place: &Place) -> Option<&Figure<'a>> {
        self.figures.get(*self.index.get(place)?)
    }

    /// Figure of another row in the same place.
    fn neighbour(&self, figure: &Figure<'_>, row: Option<&String>) -> Option<&Figure<'a>> {
        self.get(&Place { row: row?.clone(), ..figure.place().clone() })
    }

    /// Figure that another is divided by.
    pub fn versus(&self, figure: &Figure<'_>) -> Option<&Figure<'a>> {
        self.neighbour(figure, figure.runs.ties()?.versus.as_ref())
    }

    /// Figure that is subtracted from another.
    pub fn baseline(&self, figure: &Figure<'_>) -> Option<&Figure<'a>> {
        self.neighbour(figure, figure.runs.ties()?.baseline.as_ref())
    }

    /// A figure less its baseline.
    fn net(&self, figure: &Figure<'_>) -> Option<Value> {
        let baseline = self.baseline(figure)?.value().ok()?;
        figure.value().ok()?.less(&baseline).ok()
    }

    /// What is made of a figure and others: its ratio, its difference from the baseline, and the ratio of both
    /// differences.
    fn related(&self, figure: &Figure<'_>) -> Related {
        let versus = self.versus(figure);
        let net = self.net(figure);
        let nets = net.as_ref().zip(versus.and_then(|versus| self.net(versus)));
        let are_above = nets.as_ref().is_none_or(|(net, other)| net.is_above() && other.is_above());
        let net_ratio =
            nets.filter(|_| are_above).and_then(|(net, other)| net.divided_by(&other).ok());
        let ratio = versus.and_then(|versus| figure.divided_by(versus).ok());
        let noise = self.twin_ratio(figure).and_then(|ratio| ratio.estimate.interval);
        Related { ratio, net_ratio, no_net_left: !are_above, net, noise }
    }

    /// A figure divided by its twin: nothing but noise.
    pub(crate) fn twin_ratio(&self, figure: &Figure<'_>) -> Option<Value> {
        figure.divided_by(self.get(&figure.place().on(Side::Twin))?).ok()
    }
}

/// Cells by their place in the plan. If the headers of several runs differ, the longest comes first.
fn order(records: &[Record]) -> BTreeMap<Place, usize> {
    let mut runs = provenance::runs(records);
    runs.sort_by_key(|run| Reverse(run.rows.len()));
    let mut order = BTreeMap::new();
    for row in runs.iter().flat_map(|run| &run.rows) {
        let next = order.len();
        order.entry(row.place.cell()).or_insert(next);
    }
    order
}

/// Adds a twin's failed trials to its row's.
fn count_failed_twins(runs: &mut BTreeMap<Place, Runs<'_>>) {
    let twins = runs.values().filter(|runs| runs.place.side == Side::Twin);
    let failed: Vec<_> =
        twins.map(|twin| (twin.place.on(Side::A), twin.failed, twin.why.clone())).collect();
    for (place, failed, why) in failed {
        if let Some(runs) = runs.get_mut(&place) {
            runs.failed += failed;
            runs.why = runs.why.take().or(why);
        }
    }
}

impl<'a> Figure<'a> {
    /// The figure of some trials.
    fn of(runs: Runs<'a>) -> Self {
        let outcome = outcome(&runs);
        let doubts = doubts::of_figure(&runs, &outcome);
        let grade = Grade::of(&doubts);
        Figure { runs, outcome, doubts, grade, related: Related::default(), sessions: Vec::new() }
    }
}

/// What came of the trials of a row.
fn outcome(runs: &Runs<'_>) -> Outcome {
    let is_slope = runs.metric().is_slope();
    if is_slope && let Some(slopes) = memory::slopes(&runs.whole) {
        return Outcome::Slope(Box::new(slopes));
    }
    if let Some(reading) = reading(runs) {
        return Outcome::Measured(Box::new(reading));
    }
    let lacks_all = runs.whole.is_empty();
    Outcome::Missing(match runs.why.clone() {
        // The section's own column says why.
        _ if runs.ties().is_none() => return Outcome::Absent,
        Some(why) if lacks_all || is_slope => why,
        _ if lacks_all => Why::Failed("interrupted".to_owned()),
        _ if is_slope => {
            Why::Failed("its memory is not known at three numbers of tasks".to_owned())
        }
        _ => Why::Failed(format!("the records do not tell: {}", runs.metric().label())),
    })
}

/// Figures of a row by itself.
fn reading(runs: &Runs<'_>) -> Option<Reading> {
    let means: Vec<f64> = runs.means().into_values().collect();
    // With the error of the correction, which intervals are made of and single processes are not.
    let samples: Vec<f64> = runs.with_errors().into_values().collect();
    let quantity = runs.metric().quantity();
    let is_signed = matches!(quantity, Quantity::Count | Quantity::Share);
    // What cannot be negative has no interval that reaches below zero.
    let iterations = runs.iterations();
    let geometric = if is_signed { None } else { Estimate::geometric_mean(&samples) };
    let mean = geometric.or_else(|| Estimate::mean(&samples))?;
    let between = runs.between(runs.metric(), mean.value);
    let widen = if geometric.is_some() { SessionSpread::widen_share } else { SessionSpread::widen };
    Some(Reading {
        mean: widen(between, mean),
        median: iterations.map_or_else(|| stats::median(&means), |[_, p50, ..]| Some(p50))?,
        min: iterations.map(|[min, ..]| min),
        percentiles: iterations.map(|[_, percentiles @ ..]| percentiles),
        // Counts fall into groups by their nature, and next to nothing is no other mode than nothing.
        modes: if quantity == Quantity::Count { None } else { stats::modes(&means) },
        evidence: Evidence::of(&runs.whole, runs.metric()),
        means,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use record::{Metric, Run, SCHEMA, Samples, Ties, Trial};

    use super::*;
    use crate::testing::{description, row};

    /// Two rounds of `baseline`, of `own`, which is divided by `other`, and of `other`, by their times.
    fn of(metric: Metric, times: [u64; 3]) -> Vec<Record> {
        let own = Ties { versus: Some("other".to_owned()), ..Ties::default() };
        let rows = ["baseline", "own", "other"].map(|name| {
            let mut row = row(name, "p", &[]);
            row.place.metric = metric.clone();
            row.ties = if name == "own" { own.clone() } else { Ties::default() };
            row.ties.baseline = (name != "baseline").then(|| "baseline".to_owned());
            row
        });
        let run = Run { schema: SCHEMA, id: 1, rows: rows.into(), ..Run::default() };
        let (header, said) = (Arc::new(run), Some(Arc::new(description(1))));
        let trial = |round: u32, row: u32| {
            let samples = Samples::of(&[times[row as usize] + u64::from(round); 8]);
            let trial = Trial { row, round, samples, ..Trial::begin() };
            Record::new(header.clone(), said.clone(), None, trial)
        };
        (0..2).flat_map(|round| [0, 1, 2].map(|row| trial(round, row))).collect()
    }

    fn own(records: &[Record], check: impl Fn(&Figure<'_>)) {
        let figures = Figures::of(records);
        check(figures.iter().find(|figure| figure.place().row == "own").unwrap());
    }

    #[test]
    fn what_is_left_after_a_baseline_is_divided_if_both_leave_something() {
        for (times, net_ratio) in
            [([100, 300, 200], Some(2.0)), ([100, 300, 90], None), ([100, 90, 300], None)]
        {
            own(&of(Metric::Iteration, times), |figure| {
                let ratio = figure.related.net_ratio.as_ref().map(|ratio| ratio.estimate.value);
                assert_eq!(ratio.map(f64::round), net_ratio, "{times:?}");
                assert_eq!(figure.related.no_net_left, net_ratio.is_none(), "{times:?}");
            });
        }
    }

    #[test]
    fn a_row_counts_what_failed_of_its_twin() {
        let mut records = of(Metric::Iteration, [100, 300, 200]);
        let twin = &mut records[4];
        let rows = &mut Arc::make_mut(&mut twin.header).rows;
        rows[1].place.side = Side::Twin;
        twin.trial.error = Some("it crashed".to_owned());
        own(&records, |figure| {
            assert_eq!((figure.runs.whole.len(), figure.runs.failed), (1, 1));
        });
    }

    #[test]
    fn a_metric_that_no_trial_has_says_so() {
        for (metric, text) in [
            (Metric::Peak, "the records do not tell: peak resident memory"),
            (Metric::Memory, "its memory is not known at three numbers of tasks"),
        ] {
            own(&of(metric, [1; 3]), |figure| {
                let Outcome::Missing(why) = &figure.outcome else { panic!("{:?}", figure.outcome) };
                assert_eq!(why.text(), text);
            });
        }
        let mut records = of(Metric::Iteration, [1; 3]);
        records.iter_mut().for_each(|record| record.trial.partial = true);
        own(&records, |figure| assert_eq!(figure.outcome.why().unwrap().text(), "interrupted"));
        // A trial that failed is not to blame.
        let mut records = of(Metric::Peak, [1; 3]);
        records[1].trial.error = Some("it crashed".to_owned());
        own(&records, |figure| {
            assert!(figure.outcome.why().unwrap().text().starts_with("the records do not tell"));
        });
    }
}
