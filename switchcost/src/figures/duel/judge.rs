//! Verdicts of a duel: pure functions of the pairs' figures.
//!
//! A pair is one value: its processes share a bias of their own (placement of memory, of threads) that
//! only fresh starts average out. All intervals of a duel are made together, by Holm's method, and
//! those of the twins likewise.

use std::iter::zip;

use record::{Metric, Record};
use serde::Serialize;
use stats::Interval;

use crate::measure::quiet::Tally;

/// Confidence of all intervals of a duel together, and of what is decided before its end. A duel may judge each change of a program: one false
/// alarm in twenty would be too many.
pub const CONFIDENCE: f64 = 0.99;

/// Fewest pairs that a verdict is made of.
pub const MIN_PAIRS: usize = 8;

/// Largest change that counts as none, as a share, where nobody says another.
pub const MARGIN: f64 = 0.05;

/// Change that is shown as none, as a share: a count that has rounding alone is no other count.
const NOTHING: f64 = 0.0005;

/// Count per hop or task below which there is next to none.
const SCARCE: f64 = 0.001;

/// Share of the error that the looks before the end have together; the end has the rest.
const EARLY: f64 = 0.4;

/// Numbers of pairs after which a row may be decided before the end.
pub const LOOKS: [usize; 6] = [MIN_PAIRS, 12, 18, 27, 40, 60];

/// Figures of two fresh processes that took turns, the first side's before the second's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pair {
    /// Times, where it took turns.
    pub time: Option<Times>,
    /// Resident memory per task, in bytes: the slope of a line.
    pub memory: Option<[f64; 2]>,
    /// Voluntary switches per iteration, where both are counted.
    pub switches: Option<[f64; 2]>,
    /// Minor page faults per iteration, where both are counted.
    pub faults: Option<[f64; 2]>,
}

/// Times of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Median iterations, in ns.
    pub medians: [f64; 2],
    /// Logarithm of second ÷ first: the median over the turns.
    pub log_ratio: f64,
}

/// A duel with its verdicts, as it is printed and written.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// What the sides are called, and what they were built from.
    pub sides: [String; 2],
    /// Machine, kernel and runtimes.
    pub machine: String,
    /// Seed of all orders.
    pub seed: u64,
    /// Confidence of all intervals together.
    pub confidence: f64,
    /// Largest change that counts as none, as a share.
    pub margin: f64,
    /// Share of the slices that were quiet.
    pub quiet: Option<f64>,
    /// Rows in the plan's order.
    pub rows: Vec<JudgedRow>,
}

/// A row with its verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedRow {
    /// The row.
    #[serde(flatten)]
    pub row: Row,
    /// Findings about its figures; none where it has too few pairs or a fault.
    pub findings: Vec<Finding>,
}

impl Judged {
    /// Judges the records of a duel.
    pub fn of(records: &[Record]) -> Self {
        let rows = super::rows(records);
        let header = records.first().map(|record| &record.header);
        let margin = header.and_then(|run| run.margin).unwrap_or(MARGIN);
        let findings = judge(&rows, margin);
        Judged {
            sides: header.and_then(|run| run.sides.clone()).unwrap_or_default(),
            machine: crate::views::answer::machine(records),
            seed: header.map_or(0, |run| run.seed),
            confidence: CONFIDENCE,
            margin,
            quiet: Tally::of(records).quiet(),
            rows: zip(rows, findings).map(|(row, findings)| JudgedRow { row, findings }).collect(),
        }
    }
}

/// Pairs of one row.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Place in the plan.
    #[serde(skip)]
    pub case: u32,
    /// Section of the plan.
    pub section: String,
    /// Name, with its column.
    pub name: String,
    /// Pairs of both sides.
    pub pairs: Vec<Pair>,
    /// Pairs of the first side with itself.
    pub twins: Vec<Pair>,
    /// Metric of its section.
    pub metric: Metric,
    /// Hops or tasks of an iteration, by which times and counts are divided for a reader.
    pub divisor: f64,
    /// Share of its slices that were quiet; those count, or all if they are less than a quarter.
    pub quiet: Option<f64>,
    /// Reason why there are no more pairs.
    pub fault: Option<Fault>,
}

impl Default for Row {
    fn default() -> Self {
        Row {
            case: 0,
            section: String::new(),
            name: String::new(),
            pairs: Vec::new(),
            twins: Vec::new(),
            metric: Metric::Hop,
            divisor: 1.0,
            quiet: None,
            fault: None,
        }
    }
}

/// Reason why a row has no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A process failed.
    Failed(String),
    /// It was not tried.
    LeftOut(String),
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

/// Most kinds that a row has: its memory is a row of its own.
const KINDS_OF_A_ROW: usize = 3;

impl Kind {
    /// True for a count, which can be exact; false for a time and a size.
    pub fn is_count(self) -> bool {
        matches!(self, Kind::Switches | Kind::Faults)
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
    /// (0.02 is 2 % more), or as a difference where a count is zero.
    pub change: Option<Interval>,
    /// The same between twins.
    pub twin: Option<Interval>,
    /// True if `change` is a share.
    pub is_share: bool,
    /// True if every process of every twin had the same count.
    pub is_exact: bool,
    /// Medians over the pairs, the first side's and the second's: times and counts for each hop or task.
    pub figures: [f64; 2],
}

/// What can be said of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The second side has less of it.
    Less,
    /// It has more.
    More,
    /// The whole interval lies within the margin; there is no change beyond this.
    Within(f64),
    /// Nothing: the interval reaches so far from no change.
    Open(f64),
    /// Nothing, and why.
    Inconclusive(String),
}

/// What can be said of a row before the end: changed (true), unchanged (false) or nothing yet, of its time,
/// or of its memory if it is a size. Each look has its own part of the error, so that all looks and the end
/// together keep it (Bonferroni); `rows` are judged together.
pub fn interim(row: &Row, rows: usize, margin: f64) -> Option<bool> {
    let kind = if row.metric == Metric::Memory { Kind::Memory } else { Kind::Time };
    let series = series_of(row, kind).filter(|series| series.finding.is_share)?;
    let tests = (rows * KINDS_OF_A_ROW) as f64;
    let level = (1.0 - CONFIDENCE) * EARLY / LOOKS.len() as f64 / tests;
    let interval = stats::t_interval(&series.pairs, 1.0 - level)?;
    let limits = [(-margin).ln_1p(), margin.ln_1p()];
    match interval.contains(0.0) {
        false => Some(true),
        true if interval.low >= limits[0] && interval.high <= limits[1] => Some(false),
        true => None,
    }
}

/// One figure of a row before it is judged, and its changes, one for each pair.
struct Series {
    finding: Finding,
    pairs: Vec<f64>,
    twins: Vec<f64>,
}

/// Findings of each row, in order; none where it has too few pairs or a fault. `margin` is the largest change
/// that counts as none.
pub fn judge(rows: &[Row], margin: f64) -> Vec<Vec<Finding>> {
    let mut all: Vec<Vec<Series>> = rows.iter().map(series).collect();
    let flat = || all.iter().flatten();
    let pairs: Vec<&[f64]> = flat().map(|s| &s.pairs[..]).collect();
    let twins: Vec<&[f64]> = flat().map(|s| &s.twins[..]).collect();
    let intervals: Vec<_> = zip(intervals(&pairs), intervals(&twins)).collect();
    for (series, (change, twin)) in zip(all.iter_mut().flatten(), intervals) {
        (series.finding.change, series.finding.twin) = (change, twin);
    }
    let findings = |(row, series): (&Row, Vec<Series>)| {
        series.into_iter().map(|series| series.finding.judged(row, margin)).collect()
    };
    zip(rows, all).map(findings).collect()
}

fn series(row: &Row) -> Vec<Series> {
    if row.pairs.len() < MIN_PAIRS || row.fault.is_some() {
        return Vec::new();
    }
    KINDS.iter().filter_map(|&kind| series_of(row, kind)).collect()
}

fn series_of(row: &Row, kind: Kind) -> Option<Series> {
    let figures = |pair: &Pair| match kind {
        Kind::Time => pair.time.map(|time| time.medians),
        Kind::Memory => pair.memory,
        Kind::Switches => pair.switches,
        Kind::Faults => pair.faults,
    };
    let pairs: Vec<[f64; 2]> = row.pairs.iter().map(figures).collect::<Option<_>>()?;
    let twins: Vec<[f64; 2]> = row.twins.iter().map(figures).collect::<Option<_>>()?;
    let is_share = pairs.iter().chain(&twins).flatten().all(|&figure| figure > 0.0);
    let change = |(pair, [first, second]): (&Pair, &[f64; 2])| match (kind, pair.time) {
        (Kind::Time, Some(time)) => time.log_ratio,
        _ if is_share => (second / first).ln(),
        _ => second - first,
    };
    let median = |side: usize| {
        let figures: Vec<f64> = pairs.iter().map(|pair| pair[side]).collect();
        stats::median(&figures)
    };
    let mut counts = twins.iter().flatten();
    let first = counts.next();
    let is_exact = kind.is_count() && first.is_some() && counts.all(|count| Some(count) == first);
    Some(Series {
        pairs: zip(&row.pairs, &pairs).map(change).collect(),
        twins: zip(&row.twins, &twins).map(change).collect(),
        finding: Finding {
            kind,
            verdict: Verdict::Within(0.0),
            change: None,
            twin: None,
            is_share,
            is_exact,
            figures: [median(0)?, median(1)?],
        },
    })
}

/// Intervals of the means, each at the level of its step in Holm's method: one excludes zero exactly
/// where that rejects. `None` where there are under two values.
fn intervals(all: &[&[f64]]) -> Vec<Option<Interval>> {
    let p: Vec<f64> = all.iter().map(|values| stats::t_p(values).unwrap_or(1.0)).collect();
    let limit = (1.0 - CONFIDENCE) * (1.0 - EARLY);
    let rejected = stats::holm(&p).iter().filter(|&&adjusted| adjusted <= limit).count();
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut intervals = vec![None; p.len()];
    for (rank, index) in order.into_iter().enumerate() {
        let left = (p.len() - rank.min(rejected)).max(1) as f64;
        intervals[index] = stats::t_interval(all[index], 1.0 - limit / left);
    }
    intervals
}

impl Finding {
    /// The same with its intervals as shares, its figures for each hop or task, and its verdict.
    fn judged(mut self, row: &Row, margin: f64) -> Self {
        if self.is_share {
            for interval in self.change.iter_mut().chain(&mut self.twin) {
                for bound in [&mut interval.estimate, &mut interval.low, &mut interval.high] {
                    *bound = bound.exp_m1();
                }
            }
        }
        if self.kind != Kind::Memory {
            self.figures = self.figures.map(|figure| figure / row.divisor);
        }
        self.verdict = match self.change {
            _ if self.twin.is_some_and(|twin| !twin.contains(0.0) && !self.is_nothing(&twin)) => {
                Verdict::Inconclusive("A against itself differs".to_owned())
            }
            None => Verdict::Inconclusive("its figures have no interval".to_owned()),
            _ if self.kind == Kind::Memory && !self.is_share => {
                Verdict::Inconclusive("its memory does not grow with its tasks".to_owned())
            }
            Some(change) if self.is_nothing(&change) => Verdict::Within(0.0),
            Some(change) if change.high < 0.0 => Verdict::Less,
            Some(change) if change.low > 0.0 => Verdict::More,
            Some(change) => match change.high.max(-change.low) {
                reach if self.is_share && reach > margin => Verdict::Open(reach),
                reach => Verdict::Within(reach),
            },
        };
        self
    }

    /// True if a change would be shown as none, or is one of next to none: a timer's switch in a thousand hops.
    fn is_nothing(&self, change: &Interval) -> bool {
        if self.kind.is_count() && self.figures.iter().all(|&figure| figure < SCARCE) {
            return true;
        }
        let scale = if self.is_share { 1.0 } else { self.figures[0].max(1.0) };
        change.low.abs().max(change.high.abs()) < NOTHING * scale
    }

    /// True if the second side is worse by more than this share of the first, as its whole interval
    /// says. Any more than nothing is more than any share of it.
    pub fn is_worse_than(&self, limit: f64) -> bool {
        let low = self.change.map_or(0.0, |change| change.low);
        let limit = if self.is_share { limit } else { limit * self.figures[0] };
        self.verdict == Verdict::More && low > limit
    }

    /// True if nothing can be said.
    pub fn is_inconclusive(&self) -> bool {
        matches!(self.verdict, Verdict::Inconclusive(_) | Verdict::Open(_))
    }
}

#[cfg(test)]
mod tests;
