//! Pairs of a duel: two sides that took turns, row by row, what they say, and which rows need more of them.
//!
//! A round starts three programs of each row afresh: both sides and, in every second round, a twin of the
//! first. A pair is one value: its processes share a bias of their own (placement of memory, of threads) that only
//! fresh starts average out. A row that is decided early leaves its time to the others.

use std::collections::{BTreeMap, BTreeSet};

use contract::message::Usage;
use record::{Metric, Place, Quantity, Record, Row, Side, Why};
use stats::Contrast;

use super::cube::Figures;
use super::figure::Figure;
use super::finding::{self, Changes, Finding, Kind, Pair, RowFindings, Times};
use super::grade::Grade;
use super::speed::{Round, Timed};
use super::verdict::Verdict;
use super::{basis, doubts};

/// Confidence of all intervals of a duel together, and of what is decided before its end. A duel may judge
/// each change of a program: one false alarm in twenty would be too many.
pub const CONFIDENCE: f64 = 0.99;

/// Fewest pairs that a verdict is made of.
pub const MIN_PAIRS: usize = 8;

/// Share of the error that the looks before the end have together; the end has the rest.
const EARLY: f64 = 0.4;

/// Numbers of pairs after which a row may be decided before the end.
const LOOKS: [usize; 6] = [MIN_PAIRS, 12, 18, 27, 40, 60];

/// Standard deviation of the pairs of a pinned row, as logarithms, on a steady machine and on an unsteady one:
/// the medians of 24 rows in results/epyc5-2vcpu-6.18/knobs.jsonl.gz, and of 25 rows on a busier machine.
const SPREADS: [f64; 2] = [0.022, 0.040];

/// Figures of a pair, the time first.
pub(crate) const KINDS: [Kind; 4] = [Kind::Time, Kind::Memory, Kind::Switches, Kind::Faults];

/// Figures of a row that are judged at most: memory is a row of its own.
const KINDS_OF_A_ROW: usize = KINDS.len() - 1;

/// The rows of a duel, not judged yet.
pub fn rows(figures: &Figures<'_>) -> Vec<RowFindings> {
    figures.sides().filter_map(row).collect()
}

fn row(sides: [Option<&Figure<'_>>; 3]) -> Option<RowFindings> {
    let any = sides.into_iter().flatten().next()?;
    let [a, twin, b] = sides.map(|side| {
        let mut rounds: BTreeMap<Round, Vec<&Timed<'_>>> = BTreeMap::new();
        let own = side.iter().flat_map(|figure| figure.runs.processes());
        own.for_each(|(round, timed)| rounds.entry(round).or_default().push(timed));
        rounds
    });
    let timed: Vec<&Timed<'_>> =
        [&a, &twin, &b].into_iter().flat_map(BTreeMap::values).flatten().copied().collect();
    let metric = any.metric().clone();
    let repeats = timed.iter().find_map(|timed| timed.record.repeats());
    let repeats = repeats.filter(|_| metric.quantity() == Quantity::Time);
    let kind = if metric == Metric::Memory { Kind::Memory } else { Kind::Time };
    let mut faults = sides.iter().zip(["A", "A", "B"]).filter_map(|(of, side)| fault((*of)?, side));
    Some(RowFindings {
        place: any.place().on(Side::A),
        pairs: pairs(&a, &b),
        twins: pairs(&a, &twin),
        divisor: repeats.map_or(1.0, |(repeats, _)| repeats as f64),
        unit: repeats.map_or("iteration", |(_, unit)| unit),
        doubts: doubts::of_row(&timed, &metric),
        fault: faults.next(),
        ..RowFindings::new(any.place(), any.name(), kind)
    })
}

fn fault(figure: &Figure<'_>, side: &str) -> Option<Why> {
    Some(match figure.runs.why.clone()? {
        Why::Failed(error) => Why::Failed(format!("{side}: {error}")),
        left_out @ Why::LeftOut(_) => left_out,
    })
}

/// Figures of two sides in each round that has both; several processes of each for a slope.
fn pairs<'a>(
    first: &BTreeMap<Round, Vec<&Timed<'a>>>,
    second: &BTreeMap<Round, Vec<&Timed<'a>>>,
) -> Vec<Pair> {
    let both = first.iter().filter_map(|(round, own)| Some((own, second.get(round)?)));
    both.filter_map(|(first, second)| pair(first, second)).collect()
}

fn pair(first: &[&Timed<'_>], second: &[&Timed<'_>]) -> Option<Pair> {
    let (a, b) = (*first.first()?, *second.first()?);
    if a.record.row().place.metric == Metric::Memory {
        let memory = Some([slope(first)?, slope(second)?]);
        return Some(Pair { memory, ..Pair::default() });
    }
    let times =
        || Some(Times { iterations: [a.iteration()?, b.iteration()?], log_ratio: b.log_ratio(a)? });
    let each = |record: &Record, count: fn(&Usage) -> u64| {
        Some(count(record.usage.as_ref()?) as f64 / record.samples.as_ref()?.count as f64)
    };
    let counts = |count| Some([each(a.record, count)?, each(b.record, count)?]);
    Some(Pair {
        time: times(),
        memory: None,
        switches: counts(|used| used.voluntary_switches),
        faults: counts(|used| used.minor_faults),
    })
}

/// Resident memory of a task, in bytes. The kernel's share is counted for the whole system alone, in which
/// others' work would hide a change.
fn slope(side: &[&Timed<'_>]) -> Option<f64> {
    let point = |timed: &&Timed<'_>| {
        Some((timed.record.row().place.x? as f64, timed.record.resident()? as f64))
    };
    let (tasks, bytes): (Vec<f64>, Vec<f64>) = side.iter().filter_map(point).unzip();
    Some(stats::fit_line(&tasks, &bytes, basis::CONFIDENCE)?.slope.estimate)
}

/// Sets the findings of rows that have enough pairs and no fault. `margin` is the largest change that counts
/// as none.
pub fn judge(rows: &mut [RowFindings], margin: f64) {
    let tried = rows.iter().filter(|row| !row.is_left_out()).count();
    for row in rows.iter_mut().filter(|row| row.pairs.len() >= MIN_PAIRS && row.fault.is_none()) {
        row.findings = KINDS.into_iter().filter_map(|kind| finding(row, kind)).collect();
        let early = interim(row, tried, margin).map(|_| early_level(tried));
        for finding in row.findings.iter_mut().filter(|finding| finding.kind == row.kind) {
            finding.changes.level = early;
        }
    }
    finding::judge(rows, (1.0 - CONFIDENCE) * (1.0 - EARLY), margin);
}

/// What can be said of a row's main figure before the end: changed (true), unchanged (false) or nothing yet.
/// `rows` are judged together.
pub(crate) fn interim(row: &RowFindings, rows: usize, margin: f64) -> Option<bool> {
    if !LOOKS.contains(&row.pairs.len()) {
        return None;
    }
    let main = finding(row, row.kind).filter(|finding| finding.is_share)?;
    let interval = main.changes.change?.interval(1.0 - early_level(rows))?;
    match Verdict::of([interval.low, interval.high].map(f64::exp_m1), margin) {
        Verdict::Within(_) => Some(false),
        verdict => verdict.has_changed().then_some(true),
    }
}

/// Part of the error that a look before the end has: all looks and the end together keep it (Bonferroni).
fn early_level(rows: usize) -> f64 {
    (1.0 - CONFIDENCE) * EARLY / LOOKS.len() as f64 / (rows * KINDS_OF_A_ROW) as f64
}

/// How far the interval of a pinned row's time usually reaches, on a steady machine and on an unsteady one.
pub fn usual_reach(pairs: u32, rows: usize) -> Option<[f64; 2]> {
    let level = (1.0 - CONFIDENCE) * (1.0 - EARLY) / (rows * KINDS_OF_A_ROW) as f64;
    let t = stats::t_critical(1.0 - level, f64::from(pairs.checked_sub(1)?))?;
    Some(SPREADS.map(|spread| (t * spread / f64::from(pairs).sqrt()).exp_m1()))
}

/// A figure of a row; `None` if it has no such figure. It has a change if enough pairs have the figure.
fn finding(row: &RowFindings, kind: Kind) -> Option<Finding> {
    let (pairs, twins) = (known(row, &row.pairs, kind)?, known(row, &row.twins, kind)?);
    let is_share =
        pairs.iter().chain(&twins).flat_map(|(_, figures)| figures).all(|&figure| figure > 0.0);
    // Logarithms of ratios, or differences.
    let change = |(pair, [first, second]): &(Pair, [f64; 2])| match pair.time {
        Some(time) if kind == Kind::Time => time.log_ratio,
        _ if is_share => (second / first).ln(),
        _ => second - first,
    };
    let middle = |(_, [a, b]): &(Pair, [f64; 2])| {
        if is_share { f64::midpoint(a.ln(), b.ln()) } else { f64::midpoint(*a, *b) }
    };
    let changes: Vec<f64> = pairs.iter().map(change).collect();
    let apart = mean(&changes) / 2.0;
    let middle = mean(&pairs.iter().map(middle).collect::<Vec<f64>>());
    let figures = [middle - apart, middle + apart].map(|f| if is_share { f.exp() } else { f });
    let first = pairs.iter().map(|(_, [a, _])| a).chain(twins.iter().flat_map(|(_, own)| own));
    let second = pairs.iter().map(|(_, [_, b])| b);
    let is_exact = kind.is_count() && !twins.is_empty() && is_one(first) && is_one(second);
    let quantity = match kind {
        Kind::Time => Quantity::Time,
        Kind::Memory => Quantity::Bytes,
        _ => Quantity::Count,
    };
    let grade = if kind == Kind::Time { Grade::of(&row.doubts) } else { Grade::Sure };
    let figures = (!pairs.is_empty()).then_some(figures);
    let change_of = |values: &[f64]| Contrast::mean(values).filter(|_| pairs.len() >= MIN_PAIRS);
    let twin = change_of(&twins.iter().map(change).collect::<Vec<f64>>());
    let changes = Changes { change: change_of(&changes), twin, ..Changes::default() };
    Some(Finding { is_share, is_exact, figures, grade, changes, ..Finding::new(kind, quantity) })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Pairs that have a figure, with it: for each hop or task. Counts are in all pairs or in none; a time is missing from
/// a round without a slice that counts.
fn known(row: &RowFindings, pairs: &[Pair], kind: Kind) -> Option<Vec<(Pair, [f64; 2])>> {
    let divisor = if kind == Kind::Memory { 1.0 } else { row.divisor };
    let known = pairs.iter().filter_map(|pair| {
        let figures = match kind {
            Kind::Time => pair.time?.iterations,
            Kind::Memory => pair.memory?,
            Kind::Switches => pair.switches?,
            Kind::Faults => pair.faults?,
            Kind::Figure => return None,
        };
        Some((*pair, figures.map(|figure| figure / divisor)))
    });
    let known: Vec<(Pair, [f64; 2])> = known.collect();
    let may_miss = kind == Kind::Time && row.kind == kind;
    (known.len() == pairs.len() || may_miss).then_some(known)
}

fn is_one<'a>(counts: impl Iterator<Item = &'a f64>) -> bool {
    counts.map(|count| count.to_bits()).collect::<BTreeSet<u64>>().len() == 1
}

/// Decides before each round which rows need more pairs.
#[derive(Debug)]
pub struct Decider {
    margin: f64,
    rows: usize,
    /// Decided rows by their cells: true if one has changed or failed, false if it seems
    /// unchanged.
    decided: BTreeMap<Place, bool>,
}

impl Decider {
    /// For so many rows, with the largest change that counts as none.
    pub fn new(margin: f64, rows: usize) -> Self {
        Decider { margin, rows, decided: BTreeMap::new() }
    }

    /// Tells which rows take part in a round. A row that seems unchanged goes on if no other needs its time.
    pub fn choose(&mut self, round: u32, lineup: &[Row], records: &[Record]) -> Vec<bool> {
        for row in rows(&Figures::of(records)) {
            let early = || interim(&row, self.rows, self.margin);
            if let Some(is_over) = row.has_failed().then_some(true).or_else(early) {
                *self.decided.entry(row.place.cell()).or_default() |= is_over;
            }
        }
        let is_open = |row: &Row| !self.decided.contains_key(&row.place.cell());
        let is_any_open = lineup.iter().any(is_open);
        let is_chosen = |row: &Row| {
            let is_over = self.decided.get(&row.place.cell());
            let is_done = is_over.is_some_and(|over| *over || is_any_open);
            !is_done && (row.place.side != Side::Twin || round.is_multiple_of(2))
        };
        lineup.iter().map(is_chosen).collect()
    }
}

#[cfg(test)]
mod tests;
