//! Pairs of a duel: figures of two builds that took turns, row by row, and which rows need more of them.
//!
//! A round starts three programs of each row afresh: both sides and, in every second round, a twin of the
//! first. A row that is decided early leaves its time to the others.

use std::collections::BTreeMap;

use contract::message::Usage;
use facts::{Ending, Metric, Quantity, Record, Side};
use serde::Serialize;

use super::doubt::Doubt;
use super::doubts;
use super::speed::{self, Timed};
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
    /// Iterations at the quiet speed, in ns.
    pub iterations: [f64; 2],
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
    /// What it divides by: `hop`, `task` or `iteration`.
    pub unit: &'static str,
    /// What makes its times less sure.
    pub doubts: Vec<Doubt>,
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

/// Rows of a duel's records, in the plan's order.
pub fn rows(records: &[Record]) -> Vec<Row> {
    let timed = speed::correct(records).timed;
    let mut cases: BTreeMap<u32, Vec<&Timed<'_>>> = BTreeMap::new();
    for timed in timed.iter().filter(|timed| timed.record.side.is_some()) {
        cases.entry(timed.record.case).or_default().push(timed);
    }
    cases.into_values().filter_map(|own| Row::of(&own)).collect()
}

impl Row {
    /// The row of one case; `None` if the records name no plan.
    fn of(processes: &[&Timed<'_>]) -> Option<Self> {
        let place = processes.first()?.record.place()?;
        let metric = place.section.metric.clone();
        let whole: Vec<&Timed<'_>> =
            processes.iter().filter(|timed| timed.record.is_whole()).copied().collect();
        let mut rounds: BTreeMap<u32, [Vec<&Timed<'_>>; 3]> = BTreeMap::new();
        for &timed in &whole {
            let place = match (timed.record.side, timed.record.twin) {
                (Some(Side::B), _) => 1,
                (_, false) => 0,
                (_, true) => 2,
            };
            rounds.entry(timed.record.round).or_default()[place].push(timed);
        }
        let mut records = processes.iter().map(|timed| timed.record);
        let repeats = whole.iter().find_map(|timed| timed.record.repeats());
        let repeats = repeats.filter(|_| metric.quantity() == Quantity::Time);
        Some(Row {
            case: place.index,
            section: place.section.title.clone(),
            name: place.case.name(),
            pairs: pairs(rounds.values().map(|[a, b, _]| [&a[..], &b[..]])),
            twins: pairs(rounds.values().map(|[a, _, twin]| [&a[..], &twin[..]])),
            divisor: repeats.map_or(1.0, |(repeats, _)| repeats as f64),
            unit: repeats.map_or("iteration", |(_, unit)| unit),
            doubts: doubts::of_row(&whole, &metric),
            metric,
            fault: records.find_map(fault),
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
fn pairs<'a>(rounds: impl Iterator<Item = [&'a [&'a Timed<'a>]; 2]>) -> Vec<Pair> {
    rounds.filter_map(pair).collect()
}

fn pair(sides: [&[&Timed<'_>]; 2]) -> Option<Pair> {
    let [a, b] = [*sides[0].first()?, *sides[1].first()?];
    if a.record.place()?.section.metric == Metric::Memory {
        let memory = Some([slope(sides[0])?, slope(sides[1])?]);
        return Some(Pair { memory, ..Pair::default() });
    }
    Some(Pair {
        time: times([a, b]),
        memory: None,
        switches: counts([a.record, b.record], |used| used.voluntary_switches),
        faults: counts([a.record, b.record], |used| used.minor_faults),
    })
}

fn times([a, b]: [&Timed<'_>; 2]) -> Option<Times> {
    Some(Times { iterations: [a.iteration()?, b.iteration()?], log_ratio: b.log_ratio(a)? })
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
fn slope(side: &[&Timed<'_>]) -> Option<f64> {
    let point =
        |timed: &&Timed<'_>| Some((timed.record.x? as f64, timed.record.resident_gain()? as f64));
    let (tasks, bytes): (Vec<f64>, Vec<f64>) = side.iter().filter_map(point).unzip();
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
    pub fn choose(&mut self, round: u32, cases: &[Case], records: &[Record]) -> Vec<bool> {
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
pub(crate) mod tests;
