//! Two builds in turns: what has changed, on a machine that never stands still.
//!
//! A round starts three programs of each row afresh: both sides and, in every second round, a twin of the
//! first. They take turns next to each other, as in any run. A row that is decided early leaves its time to
//! the others, by a rule that keeps the error of all.

use std::collections::{BTreeMap, BTreeSet};

use contract::message::Usage;
use record::{Metric, Quantity, Record, Side};

use crate::NOT_RUN;
use crate::measure::quiet;
use crate::plan::Case;

pub mod judge;

use judge::{Fault, LOOKS, MIN_PAIRS, Pair, Row, Times};

/// Rows of a duel's records, in the plan's order; none if they are no duel's. Which slices are quiet is known.
pub fn rows(records: &[Record]) -> Vec<Row> {
    let mut cases: BTreeMap<u32, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.side.is_some()) {
        cases.entry(record.case).or_default().push(record);
    }
    cases.into_values().filter_map(|own| row(&own)).collect()
}

fn row(records: &[&Record]) -> Option<Row> {
    let place = records.first()?.place()?;
    let slices: Vec<bool> = records.iter().flat_map(|record| record.quiet.clone()).collect();
    let quiet = slices.iter().filter(|quiet| **quiet).count();
    let mut row = Row {
        case: place.index,
        section: place.section.title.clone(),
        name: place.case.name(),
        metric: place.section.metric.clone(),
        quiet: (!slices.is_empty()).then(|| quiet as f64 / slices.len() as f64),
        fault: records.iter().find_map(|record| fault(record)),
        ..Row::default()
    };
    let mut rounds: BTreeMap<u32, [Vec<&Record>; 3]> = BTreeMap::new();
    for &record in records.iter().filter(|record| record.is_whole()) {
        let place = match (record.side, record.twin) {
            (Some(Side::B), _) => 1,
            (_, false) => 0,
            (_, true) => 2,
        };
        rounds.entry(record.round).or_default()[place].push(record);
    }
    row.pairs = pairs(rounds.values().map(|[a, b, _]| [&a[..], &b[..]]));
    row.twins = pairs(rounds.values().map(|[a, _, twin]| [&a[..], &twin[..]]));
    let divisor = |record: &&&Record| match row.metric.quantity() {
        Quantity::Time => record.repeats().map(|(repeats, _)| repeats as f64),
        _ => None,
    };
    row.divisor = records.iter().find_map(|record| divisor(&record)).unwrap_or(1.0);
    Some(row)
}

fn fault(record: &Record) -> Option<Fault> {
    let error = record.error.as_ref()?;
    let side = if record.side == Some(Side::B) { "B" } else { "A" };
    Some(match error.strip_prefix(NOT_RUN) {
        Some(why) => Fault::LeftOut(why.to_owned()),
        None => Fault::Failed(format!("{side}: {error}")),
    })
}

/// Figures of two sides in each round that has both; several processes of each for a slope.
fn pairs<'a>(rounds: impl Iterator<Item = [&'a [&'a Record]; 2]>) -> Vec<Pair> {
    let rounds = rounds.filter_map(|sides| Some((sides, *sides[0].first()?, *sides[1].first()?)));
    let turns = quiet::turns(rounds, |slice| slice.median as f64).into_iter();
    turns.filter_map(|([a, b], turns)| pair(a, b, &turns)).collect()
}

fn pair(first: &[&Record], second: &[&Record], turns: &[[f64; 2]]) -> Option<Pair> {
    let (a, b) = (first.first()?, second.first()?);
    if a.place()?.section.metric == Metric::Memory {
        return Some(Pair { memory: Some([slope(first)?, slope(second)?]), ..Pair::default() });
    }
    let counts = |count: fn(&Usage) -> u64| {
        let each = |record: &Record| {
            let timed = record.samples.as_ref()?.count as f64;
            Some(count(record.usage.as_ref()?) as f64 / timed)
        };
        Some([each(a)?, each(b)?])
    };
    let side = |k: usize| {
        let medians: Vec<f64> = turns.iter().map(|turn| turn[k]).collect();
        stats::median(&medians)
    };
    Some(Pair {
        time: Some(Times { medians: [side(0)?, side(1)?], log_ratio: -quiet::log_ratio(turns)? }),
        switches: counts(|used| used.voluntary_switches),
        faults: counts(|used| used.minor_faults),
        ..Pair::default()
    })
}

/// Resident memory of a task. The kernel's share is counted for the whole system alone, where others' work
/// would hide a change.
fn slope(records: &[&Record]) -> Option<f64> {
    let point = |record: &&Record| Some((record.x? as f64, record.resident_gain()? as f64));
    let (tasks, bytes): (Vec<f64>, Vec<f64>) = records.iter().filter_map(point).unzip();
    Some(stats::fit_line(&tasks, &bytes, crate::figures::CONFIDENCE)?.slope.estimate)
}

/// Decides which rows need more pairs.
#[derive(Debug)]
pub struct Decider {
    /// Largest change that counts as none, as a share.
    pub margin: f64,
    /// Rows that are judged together, decided ones among them.
    pub rows: usize,
    /// Rows by their places in the plan that have changed, or not.
    changed: BTreeSet<u32>,
    unchanged: BTreeSet<u32>,
    failed: BTreeSet<u32>,
}

impl Decider {
    /// Nothing is decided of so many rows.
    pub fn new(margin: f64, rows: usize) -> Self {
        let none = BTreeSet::new();
        Decider { margin, rows, changed: none.clone(), unchanged: none.clone(), failed: none }
    }

    /// Looks at what there is, at the numbers of pairs that are laid down beforehand.
    pub fn look(&mut self, records: &[Record]) {
        for row in rows(records) {
            let place = row.case;
            if matches!(row.fault, Some(Fault::Failed(_))) {
                self.failed.insert(place);
            }
            if !LOOKS.contains(&row.pairs.len()) {
                continue;
            }
            match judge::interim(&row, self.rows, self.margin) {
                Some(true) => drop(self.changed.insert(place)),
                Some(false) => drop(self.unchanged.insert(place)),
                None => {}
            }
        }
    }

    /// Whether a case of the plan takes part in a round. A row that seems unchanged goes on where no other
    /// needs its time.
    pub fn wants(&self, case: &Case, round: u32, open: usize) -> bool {
        let place = case.index;
        let is_done = self.changed.contains(&place)
            || self.failed.contains(&place)
            || open > 0 && self.unchanged.contains(&place);
        !is_done && (!case.twin || round.is_multiple_of(2))
    }

    /// Number of rows that are neither decided nor failed.
    pub fn open(&self, cases: &[Case]) -> usize {
        let places: BTreeSet<u32> = cases.iter().map(|case| case.index).collect();
        let is_open = |place: &&u32| {
            ![&self.changed, &self.unchanged, &self.failed].iter().any(|set| set.contains(place))
        };
        places.iter().filter(is_open).count()
    }
}

/// Fewest rounds of a duel.
pub const ROUNDS: u32 = MIN_PAIRS as u32;
