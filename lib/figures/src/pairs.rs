//! Pairs of a duel: two sides that took turns, row by row, what they say, and which rows need more of them.
//!
//! A round starts three programs of each row afresh: both sides and, in every second round, a twin of the
//! first. A pair is one value: its processes share a bias of their own (placement of memory, of threads) that only
//! fresh starts average out. A row that is decided early leaves its time to the others.

use std::collections::{BTreeMap, BTreeSet};

use contract::message::Usage;
use record::{Metric, Place, Quantity, Record, Row, Side, Why};
use stats::Interval;

use super::cube::Figures;
use super::doubts;
use super::figure::Figure;
use super::grade::Grade;
use super::quotient::{self, Compared, Kind, Measured, Pair};
use super::speed::{Round, Timed};
use super::verdict::{MIN_PAIRS, Reason, Verdict};

/// Confidence of all intervals of a duel together, and of what is decided before its end. A duel may judge
/// each change of a program: one false alarm in twenty would be too many.
pub const CONFIDENCE: f64 = 0.99;

/// Share of the error that the looks before the end have together; the end has the rest.
const EARLY: f64 = 0.4;

/// Numbers of pairs after which a row may be decided before the end.
const LOOKS: [usize; 6] = [MIN_PAIRS, 12, 18, 27, 40, 60];

/// Standard deviation of the pairs of a pinned row, as logarithms, on a steady machine and on an unsteady one:
/// the medians of 24 rows of docs/findings/knobs.toml on `epyc5`, and of 25 rows on a busier machine.
const SPREADS: [f64; 2] = [0.022, 0.040];

/// Figures of a row, the time first.
const KINDS: [Kind; 5] = [Kind::Time, Kind::Mean, Kind::Memory, Kind::Switches, Kind::Faults];

/// Figures of a row that are judged at most: memory is a row of its own.
const KINDS_OF_A_ROW: usize = KINDS.len() - 1;

/// Figures of a row whose iterations are runs of a command.
const KINDS_OF_RUNS: [Kind; 7] = [
    Kind::Time,
    Kind::Cpu,
    Kind::Switches,
    Kind::Faults,
    Kind::SystemCalls,
    Kind::Instructions,
    Kind::Peak,
];

/// The rows of a duel, not judged yet.
pub fn rows(figures: &Figures<'_>) -> Vec<Compared> {
    figures.sides().filter_map(row).collect()
}

fn row(sides: [Option<&Figure<'_>>; 3]) -> Option<Compared> {
    let any = sides.into_iter().flatten().next()?;
    let trials = sides.iter().flatten().flat_map(|side| side.runs.processes());
    let trials: Vec<&Timed<'_>> = trials.map(|(_, timed)| timed).collect();
    let metric = any.metric();
    let kind = if *metric == Metric::Memory { Kind::Memory } else { Kind::Time };
    let mut faults = sides.iter().zip(["A", "A", "B"]).filter_map(|(of, side)| fault((*of)?, side));
    let mut row = Compared {
        place: any.place().on(Side::A),
        name: any.name(),
        kind,
        unit: sides.into_iter().flatten().find_map(repeats).map_or("iteration", |(_, unit)| unit),
        doubts: doubts::of_row(&trials, metric),
        fault: faults.next(),
        ..Compared::default()
    };
    let [Some(a), twin, b] = sides else { return Some(row) };
    let pairs = |kind, other: Option<&_>| other.map_or(Vec::new(), |other| pairs(kind, [a, other]));
    // Whether their slices count or not.
    row.pairs = b.map_or(0, |b| rounds(a).intersection(&rounds(b)).count());
    let kinds = if is_of_runs(a) { &KINDS_OF_RUNS[..] } else { &KINDS };
    row.quotients = kinds
        .iter()
        .copied()
        .filter(|of| (*of == Kind::Memory) == (kind == Kind::Memory))
        .filter(|of| *of != Kind::Peak || ![Some(a), b].into_iter().flatten().all(is_bound))
        .filter_map(|of| {
            let (own, twins) = (pairs(of, b), pairs(of, twin));
            // Counts are in all pairs or in none. A time is missing from a round without a slice that counts, a size from
            // one that was cut short.
            let is_there = match of {
                Kind::Mean => !own.is_empty(),
                _ => own.len() == row.pairs || !of.is_count(),
            };
            let grade = if of.is_time() { Grade::of(&row.doubts) } else { Grade::Sure };
            let measured = is_there.then(|| Measured::of_pairs(of, own, twins, grade))?;
            Some(if is_of_runs(a) { measured.of_runs() } else { measured }.into())
        })
        .collect();
    Some(row)
}

/// How many hops or tasks an iteration has, and which. A side's flags may give it a chain of another length.
fn repeats(side: &Figure<'_>) -> Option<(u64, &'static str)> {
    let is_time = side.quantity() == Quantity::Time;
    side.runs.processes().filter(|_| is_time).find_map(|(_, timed)| timed.record.repeats())
}

/// What its figures of an iteration are divided by.
fn divisor(side: &Figure<'_>) -> f64 {
    repeats(side).map_or(1.0, |(repeats, _)| repeats as f64)
}

/// True if its iterations are runs of a command, each in a fresh process.
fn is_of_runs(side: &Figure<'_>) -> bool {
    side.runs.processes().any(|(_, timed)| timed.record.is_of_runs())
}

/// True if the peak memory of its runs is that of what started them, which says nothing of a change.
fn is_bound(side: &Figure<'_>) -> bool {
    side.runs.processes().all(|(_, timed)| timed.record.peak_is_bound)
}

fn fault(figure: &Figure<'_>, side: &str) -> Option<Why> {
    Some(match figure.runs.why.clone()? {
        Why::Failed(error) => {
            let round = figure.runs.failed_in + 1;
            Why::Failed(format!("{side}, round {round}: {error}"))
        }
        left_out => left_out,
    })
}

/// Figures of two sides in each round that has both.
fn pairs(kind: Kind, [first, second]: [&Figure<'_>; 2]) -> Vec<Pair> {
    let length = (divisor(second) / divisor(first)).ln();
    let by_turns: Option<fn(&Timed<'_>, &Timed<'_>) -> Option<f64>> = match kind {
        Kind::Time => Some(|own, other| own.log_ratio(other)),
        Kind::Mean => Some(|own, other| own.log_ratio_of_means(other)),
        _ => None,
    };
    let ratios = by_turns.map(|ratio| second.runs.log_ratios(&first.runs, ratio));
    let others = series(second, kind);
    let pairs = series(first, kind).into_iter().filter_map(|(round, own)| {
        let by_turns = match &ratios {
            Some(ratios) => Some(ratios.get(&round)? - length),
            None => None,
        };
        Some(Pair { figures: [own, *others.get(&round)?], by_turns })
    });
    pairs.collect()
}

fn rounds(side: &Figure<'_>) -> BTreeSet<Round> {
    side.runs.processes().map(|(round, _)| round).collect()
}

/// A figure of a side in each round: per hop or task, or bytes per task.
fn series(side: &Figure<'_>, kind: Kind) -> BTreeMap<Round, f64> {
    let processes = side.runs.processes();
    if kind == Kind::Memory {
        let mut rounds: BTreeMap<Round, Vec<&Timed<'_>>> = BTreeMap::new();
        processes.for_each(|(round, timed)| rounds.entry(round).or_default().push(timed));
        let slopes = rounds.into_iter().filter_map(|(round, timed)| Some((round, slope(&timed)?)));
        return slopes.collect();
    }
    let count = |record: &Record, count: fn(&Usage) -> u64| {
        Some(count(record.usage.as_ref()?) as f64 / record.samples.as_ref()?.count as f64)
    };
    let figure = |timed: &Timed<'_>| match kind {
        Kind::Switches => count(timed.record, |used| used.voluntary_switches),
        Kind::Faults => count(timed.record, |used| used.minor_faults),
        Kind::Cpu => count(timed.record, |used| used.cpu_ns()),
        Kind::Peak => Some(timed.record.usage?.peak_bytes? as f64),
        Kind::SystemCalls => timed.record.counted_each(&["system_calls"]),
        Kind::Instructions => {
            timed.record.counted_each(&["instructions_user", "instructions_kernel"])
        }
        Kind::Mean => timed.mean(),
        _ => timed.iteration(),
    };
    let divisor = divisor(side);
    processes.filter_map(|(round, timed)| Some((round, figure(timed)? / divisor))).collect()
}

/// Resident memory per task, in bytes. The kernel's memory is left out: it is counted only for the whole system, where
/// other work would hide a change.
fn slope(side: &[&Timed<'_>]) -> Option<f64> {
    let point = |timed: &&Timed<'_>| {
        Some((timed.record.row().place.x? as f64, timed.record.resident()? as f64))
    };
    let (tasks, bytes): (Vec<f64>, Vec<f64>) = side.iter().filter_map(point).unzip();
    Some(stats::fit_line(&tasks, &bytes)?.slope.estimate)
}

/// Judges the rows that have no fault; of too few pairs nothing is said. `margin` is the largest change that counts as
/// none.
pub fn judge(rows: &mut [Compared], margin: f64) {
    let tried = rows.iter().filter(|row| !row.is_left_out()).count();
    for row in rows.iter_mut() {
        if row.pairs == 0 || row.fault.is_some() {
            row.quotients.clear();
        }
        for quotient in row.quotients.iter_mut().filter(|_| row.pairs < MIN_PAIRS) {
            quotient.measured.lack = Reason::FewPairs;
        }
    }
    let early = |row: &Compared, measured: &Measured| {
        let is_decided = measured.kind == row.kind && deciding(row, tried, margin).is_some();
        is_decided.then(|| early_level(tried, measured))
    };
    quotient::judge(rows, (1.0 - CONFIDENCE) * (1.0 - EARLY), margin, early);
}

/// What can be said of a row's main figure before the end: changed (true), unchanged (false) or nothing yet.
/// `rows` are judged together. With a `limit`, it must be known on which side of it the change is.
pub(crate) fn interim(
    row: &Compared,
    rows: usize,
    margin: f64,
    limit: Option<f64>,
) -> Option<bool> {
    let change = deciding(row, rows, margin)?;
    let main = &row.quotient(row.kind)?.measured;
    // As far as the twins tell by now: what differs from itself has no verdict, and needs more pairs.
    match main.verdict_on(change, main.twin_interval(end_level(rows)), margin) {
        Verdict::Within(_) => Some(false),
        _ if limit.is_some_and(|limit| change.low <= limit && limit < change.high) => None,
        verdict => verdict.has_changed().then_some(true),
    }
}

/// Interval of a row's main figure at a look, if it decides.
fn deciding(row: &Compared, rows: usize, margin: f64) -> Option<Interval> {
    let main = &row.quotient(row.kind).filter(|main| main.measured.is_share)?.measured;
    if !LOOKS.contains(&main.pairs.len()) {
        return None;
    }
    let change = main.change_interval(early_level(rows, main))?.map(f64::exp_m1);
    (!Verdict::of([change.low, change.high], margin).is_open()).then_some(change)
}

/// Part of the error that a look before the end has: all looks and the end together keep it (Bonferroni). A look judges
/// the main figure alone; of programs, it has a share as if it judged all.
fn early_level(rows: usize, main: &Measured) -> f64 {
    let judged = if main.is_of_runs { 1 } else { KINDS_OF_A_ROW };
    (1.0 - CONFIDENCE) * EARLY / LOOKS.len() as f64 / (rows * judged) as f64
}

/// Part of the error that a figure has at the end, if each of so many rows has all figures.
fn end_level(rows: usize) -> f64 {
    (1.0 - CONFIDENCE) * (1.0 - EARLY) / (rows * KINDS_OF_A_ROW) as f64
}

/// How far the interval of a pinned row's time usually reaches, on a steady machine and on an unsteady one.
pub fn usual_reach(pairs: u32, rows: usize) -> Option<[f64; 2]> {
    let t = stats::t_critical(1.0 - end_level(rows), f64::from(pairs.checked_sub(1)?))?;
    Some(SPREADS.map(|spread| (t * spread / f64::from(pairs).sqrt()).exp_m1()))
}

/// Decides before each round which of so many rows take part in it: a row that has changed or failed needs no more pairs,
/// and one that seems unchanged goes on only if no other needs its time. `margin` is the largest change that counts as
/// none, `limit` the change from which a row fails.
pub fn decider(
    margin: f64,
    limit: Option<f64>,
    count: usize,
) -> impl FnMut(u32, &[Row], &[Record]) -> Vec<bool> {
    // Decided rows by their cells: true if one has changed or failed.
    let mut decided: BTreeMap<Place, bool> = BTreeMap::new();
    move |round, lineup, records| {
        // Rounds may lack a pair, and reading all records takes as long as a short run.
        let newest = records.iter().rev().take_while(|record| record.round + 1 == round);
        let is_due = (round as usize) < 2 * LOOKS[LOOKS.len() - 1]
            || newest.filter_map(|record| record.why()).next().is_some();
        for row in rows(&Figures::of(if is_due { records } else { &[] })) {
            let early = || interim(&row, count, margin, limit);
            if let Some(is_over) = row.has_failed().then_some(true).or_else(early) {
                *decided.entry(row.place.cell()).or_default() |= is_over;
            }
        }
        let is_any_open = lineup.iter().any(|row| !decided.contains_key(&row.place.cell()));
        let is_chosen = |row: &Row| {
            let is_over = decided.get(&row.place.cell());
            let is_done = is_over.is_some_and(|over| *over || is_any_open);
            !is_done && (row.place.side != Side::Twin || round.is_multiple_of(2))
        };
        lineup.iter().map(is_chosen).collect()
    }
}

#[cfg(test)]
mod tests;
