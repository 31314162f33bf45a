//! Verdicts of a duel: pure functions of the pairs' figures.
//!
//! A pair is one value: its processes share a bias of their own (placement of memory, of threads) that only
//! fresh starts average out. All intervals of a duel hold together (Bonferroni), and those of the twins
//! likewise: a verdict is what its interval says.

use std::collections::BTreeSet;
use std::iter::zip;

use facts::Quantity;
use serde::Serialize;
use stats::Interval;

use super::{Pair, Row};
use crate::figures::grade::Grade;
use crate::figures::verdict::{Reason, Verdict};

/// Confidence of all intervals of a duel together, and of what is decided before its end. A duel may judge
/// each change of a program: one false alarm in twenty would be too many.
pub const CONFIDENCE: f64 = 0.99;

/// Fewest pairs that a verdict is made of.
pub const MIN_PAIRS: usize = 8;

/// Change that is shown as none, as a share: a count that has rounding alone is no other count.
const NOTHING: f64 = 0.0005;

/// Count per hop or task below which there is next to none.
const SCARCE: f64 = 0.001;

/// Share of the error that the looks before the end have together; the end has the rest.
const EARLY: f64 = 0.4;

/// Numbers of pairs after which a row may be decided before the end.
const LOOKS: [usize; 6] = [MIN_PAIRS, 12, 18, 27, 40, 60];

/// Standard deviation of the pairs of a pinned row, as logarithms, on a steady machine and on an unsteady one:
/// the medians of 24 rows in results/epyc5-2vcpu-6.18/knobs.jsonl and of 25 in results/epyc-2vcpu-6.18/knobs.jsonl.
const SPREADS: [f64; 2] = [0.022, 0.040];

/// How far the interval of a pinned row's time usually reaches, on a steady machine and on an unsteady one.
pub fn usual_reach(pairs: u32, rows: usize) -> Option<[f64; 2]> {
    let tests = (rows * (KINDS.len() - 1)) as f64;
    let level = (1.0 - CONFIDENCE) * (1.0 - EARLY) / tests;
    let t = stats::t_critical(1.0 - level, f64::from(pairs.checked_sub(1)?))?;
    Some(SPREADS.map(|spread| (t * spread / f64::from(pairs).sqrt()).exp_m1()))
}

/// Figure that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Time of an iteration.
    Time,
    /// Memory of a task.
    Memory,
    /// Voluntary switches of an iteration.
    Switches,
    /// Minor page faults of an iteration.
    Faults,
}

/// All kinds, the time first.
pub const KINDS: [Kind; 4] = [Kind::Time, Kind::Memory, Kind::Switches, Kind::Faults];

impl Kind {
    /// True for a count, which can be exact; false for a time and a size.
    pub fn is_count(self) -> bool {
        matches!(self, Kind::Switches | Kind::Faults)
    }

    /// Quantity that it is.
    pub fn quantity(self) -> Quantity {
        match self {
            Kind::Time => Quantity::Time,
            Kind::Memory => Quantity::Bytes,
            Kind::Switches | Kind::Faults => Quantity::Count,
        }
    }
}

/// Finding about one figure of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The figure.
    pub kind: Kind,
    /// What can be said.
    pub verdict: Verdict,
    /// Change from the first side to the second with its corrected interval: as a share of the first
    /// (0.02 is 2 % more), or as a difference for each hop or task if a figure of some process is zero.
    pub change: Option<Interval>,
    /// The same between twins.
    pub twin: Option<Interval>,
    /// True if `change` is a share.
    pub is_share: bool,
    /// True if all processes of a side, twins too, had the same count: of each side.
    pub is_exact: bool,
    /// The first side's and the second's figure: their common mean, apart by the change. Times and counts are
    /// for each hop or task. `None` if no pair has it.
    pub figures: Option<[f64; 2]>,
    /// Worth of it.
    pub grade: Grade,
}

/// What can be said of a row's main figure before the end: changed (true), unchanged (false) or nothing yet.
/// Each look has its own part of the error, so that all looks and the end together keep it (Bonferroni);
/// `rows` are judged together.
pub fn interim(row: &Row, rows: usize, margin: f64) -> Option<bool> {
    if !LOOKS.contains(&row.pairs.len()) {
        return None;
    }
    let series =
        Series::of(row, row.kind()).filter(|series| series.finding.is_share && series.is_long())?;
    // Memory is a row of its own.
    let tests = (rows * (KINDS.len() - 1)) as f64;
    let level = (1.0 - CONFIDENCE) * EARLY / LOOKS.len() as f64 / tests;
    let interval = stats::t_interval(&series.pairs, 1.0 - level)?;
    match Verdict::of([interval.low, interval.high].map(f64::exp_m1), margin) {
        Verdict::Within(_) => Some(false),
        verdict => verdict.has_changed().then_some(true),
    }
}

/// Sets the findings of rows that have enough pairs and no fault. `margin` is the largest change that counts
/// as none.
pub fn judge(rows: &mut [Row], margin: f64) {
    let mut all: Vec<(usize, Series)> = Vec::new();
    for (k, row) in rows.iter().enumerate() {
        if row.pairs.len() >= MIN_PAIRS && row.fault.is_none() {
            all.extend(KINDS.iter().filter_map(|&kind| Some((k, Series::of(row, kind)?))));
        }
    }
    // The row keeps its name and its line.
    for (k, series) in all.extract_if(.., |(_, series)| !series.is_long()) {
        rows[k].findings.push(series.finding);
    }
    let changes = intervals(all.iter().map(|(_, series)| &series.pairs));
    let twins = intervals(all.iter().map(|(_, series)| &series.twins));
    for ((k, series), (change, twin)) in zip(all, zip(changes, twins)) {
        rows[k].findings.push(series.finding.judged(change, twin, margin));
    }
}

/// Intervals of the means, which hold together; `None` for under two values. Steps of Holm's method would give
/// narrower ones that do not.
fn intervals<'a>(series: impl Iterator<Item = &'a Vec<f64>>) -> Vec<Option<Interval>> {
    let series: Vec<&Vec<f64>> = series.collect();
    let level = (1.0 - CONFIDENCE) * (1.0 - EARLY) / series.len() as f64;
    series.into_iter().map(|values| stats::t_interval(values, 1.0 - level)).collect()
}

impl Pair {
    fn figures(&self, kind: Kind) -> Option<[f64; 2]> {
        match kind {
            Kind::Time => self.time.map(|time| time.iterations),
            Kind::Memory => self.memory,
            Kind::Switches => self.switches,
            Kind::Faults => self.faults,
        }
    }
}

/// One figure of a row before it is judged, and its changes, one for each pair.
struct Series {
    finding: Finding,
    pairs: Vec<f64>,
    twins: Vec<f64>,
}

impl Series {
    /// A figure of a row; `None` if it has no such figure.
    fn of(row: &Row, kind: Kind) -> Option<Self> {
        // Counts are in all pairs or in none; a time is missing from a round without a slice that counts.
        let may_miss = kind == Kind::Time && row.kind() == kind;
        let divisor = if kind == Kind::Memory { 1.0 } else { row.divisor };
        let known = |pairs: &[Pair]| -> Option<Vec<(Pair, [f64; 2])>> {
            let figures = |pair: &Pair| Some(pair.figures(kind)?.map(|figure| figure / divisor));
            let known = pairs.iter().filter_map(|pair| Some((*pair, figures(pair)?)));
            let known: Vec<(Pair, [f64; 2])> = known.collect();
            (known.len() == pairs.len() || may_miss).then_some(known)
        };
        let (pairs, twins) = (known(&row.pairs)?, known(&row.twins)?);
        let mut all = pairs.iter().chain(&twins).flat_map(|(_, figures)| figures);
        let is_share = all.all(|&figure| figure > 0.0);
        // Logarithms of ratios, or differences.
        let change = |(pair, [first, second]): &(Pair, [f64; 2])| match pair.time {
            Some(time) if kind == Kind::Time => time.log_ratio,
            _ if is_share => (second / first).ln(),
            _ => second - first,
        };
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let apart = mean(pairs.iter().map(change).collect()) / 2.0;
        let middle = |(_, [a, b]): &(Pair, [f64; 2])| {
            if is_share { f64::midpoint(a.ln(), b.ln()) } else { f64::midpoint(*a, *b) }
        };
        let middle = mean(pairs.iter().map(middle).collect());
        let figures = [middle - apart, middle + apart];
        let figures = figures.map(|f| if is_share { f.exp() } else { f });
        let is_timed = kind == Kind::Time;
        let grade = if is_timed { Grade::of(&row.doubts) } else { Grade::Sure };
        let first = pairs.iter().map(|(_, [a, _])| a).chain(twins.iter().flat_map(|(_, own)| own));
        let second = pairs.iter().map(|(_, [_, b])| b);
        let is_exact = kind.is_count() && !twins.is_empty() && is_one(first) && is_one(second);
        let finding = Finding {
            kind,
            verdict: Verdict::Inconclusive(Reason::Disturbed),
            change: None,
            twin: None,
            is_share,
            is_exact,
            figures: (!pairs.is_empty()).then_some(figures),
            grade,
        };
        let pairs = pairs.iter().map(change).collect();
        Some(Series { finding, pairs, twins: twins.iter().map(change).collect() })
    }

    /// True if enough pairs have the figure.
    fn is_long(&self) -> bool {
        self.pairs.len() >= MIN_PAIRS
    }
}

/// True if all counts are the same.
fn is_one<'a>(counts: impl Iterator<Item = &'a f64>) -> bool {
    counts.map(|count| count.to_bits()).collect::<BTreeSet<u64>>().len() == 1
}

impl Finding {
    /// The same with its change and its twin's, and its verdict.
    fn judged(mut self, change: Option<Interval>, twin: Option<Interval>, margin: f64) -> Self {
        (self.change, self.twin) = (change, twin);
        if self.is_share {
            for change in self.change.iter_mut().chain(&mut self.twin) {
                for bound in [&mut change.estimate, &mut change.low, &mut change.high] {
                    *bound = bound.exp_m1();
                }
            }
        }
        self.verdict = self.verdict_within(margin);
        self
    }

    fn verdict_within(&self, margin: f64) -> Verdict {
        if self.twin.is_some_and(|twin| !twin.contains(0.0) && !self.is_nothing(&twin)) {
            return Verdict::Inconclusive(Reason::TwinDiffers);
        }
        let Some(change) = self.change else {
            return Verdict::Inconclusive(Reason::FewPairs);
        };
        if self.kind == Kind::Memory && !self.is_share {
            Verdict::Inconclusive(Reason::NoSize)
        } else if self.is_nothing(&change) {
            Verdict::Within(0.0)
        } else {
            // The margin of a difference is a share of the larger side: the other one may be zero.
            let larger = self.figures.map_or(0.0, |[a, b]| a.max(b));
            let scale = if self.is_share { 1.0 } else { larger };
            Verdict::of([change.low / scale, change.high / scale], margin)
        }
    }

    /// True if there is next to none of it, such as a timer's switch in a thousand hops.
    pub fn is_scarce(&self) -> bool {
        self.kind.is_count() && self.figures.iter().flatten().all(|&figure| figure < SCARCE)
    }

    fn first(&self) -> f64 {
        self.figures.map_or(0.0, |[first, _]| first)
    }

    /// True if a change would be shown as none.
    fn is_nothing(&self, change: &Interval) -> bool {
        let scale = if self.is_share { 1.0 } else { self.first().max(1.0) };
        self.is_scarce() || change.low.abs().max(change.high.abs()) < NOTHING * scale
    }

    /// True if the second side is worse by more than this share of the first, as its whole interval says. Any
    /// more than nothing is more than any share of it.
    pub fn is_worse_than(&self, share: f64) -> bool {
        let low = self.change.map_or(0.0, |change| change.low);
        let limit = if self.is_share { share } else { share * self.first() };
        let is_said = match self.verdict {
            Verdict::Within(reach) => reach > share,
            verdict => !verdict.is_open(),
        };
        is_said && low > limit
    }
}
