//! Pairs of a duel: figures of two builds that took turns, row by row, and which rows need more of them.
//!
//! A round starts three programs of each row afresh: both sides and, in every second round, a twin of the
//! first. A row that is decided early leaves its time to the others.

use std::collections::BTreeMap;

use contract::message::Usage;
use facts::{Ending, Metric, Quantity, Record, Side};
use serde::Serialize;

use crate::measure::quiet;
use crate::plan::Case;

pub mod verdict;

use verdict::{Finding, Kind};

/// Figures of two fresh processes that took turns, the first side's before the second's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pair {
    /// Times, if it took turns.
    pub time: Option<Times>,
    /// Resident memory per task, in bytes: the slope of a line.
    pub memory: Option<[f64; 2]>,
    /// Voluntary switches per iteration, if both are counted.
    pub switches: Option<[f64; 2]>,
    /// Minor page faults per iteration, if both are counted.
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
    /// Findings about its figures; none if it has too few pairs or a fault.
    pub findings: Vec<Finding>,
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

/// Rows of a duel's records, in the plan's order. Which slices are quiet is known.
pub fn rows(records: &[Record]) -> Vec<Row> {
    let mut cases: BTreeMap<u32, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.side.is_some()) {
        cases.entry(record.case).or_default().push(record);
    }
    cases.into_values().filter_map(|own| Row::of(&own)).collect()
}

impl Row {
    /// The row of one case; `None` if the records name no plan.
    fn of(records: &[&Record]) -> Option<Self> {
        let place = records.first()?.place()?;
        let metric = place.section.metric.clone();
        let mut rounds: BTreeMap<u32, [Vec<&Record>; 3]> = BTreeMap::new();
        for &record in records.iter().filter(|record| record.is_whole()) {
            let place = match (record.side, record.twin) {
                (Some(Side::B), _) => 1,
                (_, false) => 0,
                (_, true) => 2,
            };
            rounds.entry(record.round).or_default()[place].push(record);
        }
        let slices: Vec<f64> =
            records.iter().flat_map(|record| &record.quiet).map(|&q| f64::from(q)).collect();
        let repeats = records.iter().find_map(|record| record.repeats());
        let repeats = repeats.filter(|_| metric.quantity() == Quantity::Time);
        Some(Row {
            case: place.index,
            section: place.section.title.clone(),
            name: place.case.name(),
            pairs: pairs(rounds.values().map(|[a, b, _]| [&a[..], &b[..]])),
            twins: pairs(rounds.values().map(|[a, _, twin]| [&a[..], &twin[..]])),
            metric,
            divisor: repeats.map_or(1.0, |(repeats, _)| repeats as f64),
            quiet: (!slices.is_empty()).then(|| slices.iter().sum::<f64>() / slices.len() as f64),
            fault: records.iter().find_map(|record| fault(record)),
            findings: Vec::new(),
        })
    }

    /// Its main figure: a time or a size.
    pub fn kind(&self) -> Kind {
        if self.metric == Metric::Memory { Kind::Memory } else { Kind::Time }
    }

    /// True if a process failed.
    pub fn has_failed(&self) -> bool {
        matches!(self.fault, Some(Fault::Failed(_)))
    }
}

fn fault(record: &Record) -> Option<Fault> {
    let side = if record.side == Some(Side::B) { "B" } else { "A" };
    match record.outcome() {
        Ending::Measured => None,
        Ending::Failed(error) => Some(Fault::Failed(format!("{side}: {error}"))),
        Ending::NotRun(why) => Some(Fault::LeftOut(why.to_owned())),
    }
}

/// Figures of two sides in each round that has both; several processes of each for a slope.
fn pairs<'a>(rounds: impl Iterator<Item = [&'a [&'a Record]; 2]>) -> Vec<Pair> {
    let rounds = rounds.filter_map(|sides| Some((sides, *sides[0].first()?, *sides[1].first()?)));
    let turns = quiet::turns(rounds, verdict::MIN_PAIRS, |slice| slice.median as f64).into_iter();
    turns.filter_map(|(sides, turns)| pair(sides, &turns)).collect()
}

fn pair(sides: [&[&Record]; 2], turns: &[[f64; 2]]) -> Option<Pair> {
    let [a, b] = [*sides[0].first()?, *sides[1].first()?];
    if a.place()?.section.metric == Metric::Memory {
        let memory = Some([slope(sides[0])?, slope(sides[1])?]);
        return Some(Pair { memory, ..Pair::default() });
    }
    Some(Pair {
        // Counts stand without a quiet turn.
        time: times(turns),
        memory: None,
        switches: counts([a, b], |used| used.voluntary_switches),
        faults: counts([a, b], |used| used.minor_faults),
    })
}

fn times(turns: &[[f64; 2]]) -> Option<Times> {
    let median =
        |side: usize| stats::median(&turns.iter().map(|turn| turn[side]).collect::<Vec<_>>());
    let medians = [median(0)?, median(1)?];
    Some(Times { medians, log_ratio: -quiet::log_ratio(turns)? })
}

/// Counts per iteration of two processes.
fn counts([a, b]: [&Record; 2], count: fn(&Usage) -> u64) -> Option<[f64; 2]> {
    let each = |record: &Record| {
        Some(count(record.usage.as_ref()?) as f64 / record.samples.as_ref()?.count as f64)
    };
    Some([each(a)?, each(b)?])
}

/// Resident memory of a task, in bytes. The kernel's share is counted for the whole system alone, in which
/// others' work would hide a change.
fn slope(records: &[&Record]) -> Option<f64> {
    let point = |record: &&Record| Some((record.x? as f64, record.resident_gain()? as f64));
    let (tasks, bytes): (Vec<f64>, Vec<f64>) = records.iter().filter_map(point).unzip();
    Some(stats::fit_line(&tasks, &bytes, crate::figures::CONFIDENCE)?.slope.estimate)
}

/// Decides before each round which rows need more pairs.
#[derive(Debug)]
pub struct Decider {
    /// Largest change that counts as none, as a share.
    margin: f64,
    /// Number of rows that are judged together.
    rows: usize,
    /// Decided rows by their places in the plan: true if one has changed or failed, false if it seems
    /// unchanged.
    decided: BTreeMap<u32, bool>,
}

impl Decider {
    /// A decider for so many rows, of which none is decided.
    pub fn new(margin: f64, rows: usize) -> Self {
        Decider { margin, rows, decided: BTreeMap::new() }
    }

    /// The cases of the plan that take part in a round. A row that seems unchanged goes on if no other needs
    /// its time.
    pub fn choose(&mut self, round: u32, cases: &[Case], records: &mut [Record]) -> Vec<bool> {
        quiet::settle(records);
        for row in rows(records) {
            let early = || verdict::interim(&row, self.rows, self.margin);
            if let Some(is_over) = row.has_failed().then_some(true).or_else(early) {
                *self.decided.entry(row.case).or_default() |= is_over;
            }
        }
        let is_any_open = cases.iter().any(|case| !self.decided.contains_key(&case.index));
        let is_chosen = |case: &Case| {
            let is_done = self.decided.get(&case.index).is_some_and(|over| *over || is_any_open);
            !is_done && (!case.twin || round.is_multiple_of(2))
        };
        cases.iter().map(is_chosen).collect()
    }
}

#[cfg(test)]
mod tests;
