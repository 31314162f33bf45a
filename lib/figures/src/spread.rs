//! Estimates [`Spread`]: how far sessions of one machine differ beyond what the intervals within each of them tell.
//!
//! A session's logarithm is off by its own error, by a multiple of that error, which is one for all, and by what no session
//! shows, which is one for each kind of figure. They are the values that make the committed sessions most likely, as
//! if logarithms were normal. Each machine has the same weight, however many rows and sessions it has.

use std::collections::BTreeMap;

use record::{Metric, Place, Record};
use stats::{CONFIDENCE, MIN_ROUNDS, t_critical};

use super::cube::Figures;
use super::figure::Figure;
use super::session_spread::Spread;
use super::sessions;
use super::value::Value;

/// Kinds of figures: ratios and times, each unpinned and pinned.
const KINDS: usize = 4;

/// Standard deviations that are tried, by their thousandths.
const MOST: usize = 120;

/// Multiples of the own error that are tried, by their quarters.
const MULTIPLES: usize = 12;

/// A figure of one session, as a logarithm.
#[derive(Clone, Copy, Debug)]
struct Point {
    log: f64,
    /// Standard error, as its rounds show it.
    error: f64,
    /// What they do not show of it.
    hidden: f64,
    rounds: usize,
}

/// What the sessions of one machine say of its switches: each figure in every session, by its kind.
#[derive(Clone, Debug, Default)]
pub struct MachineRows {
    rows: [Vec<Vec<Point>>; KINDS],
}

impl MachineRows {
    /// Adds the switches of a file with several sessions, each read by itself.
    pub fn add(&mut self, records: &[Record]) {
        let mut rows: BTreeMap<(usize, Place), Vec<Point>> = BTreeMap::new();
        for session in sessions::of(records) {
            let figures = Figures::of(session);
            for figure in figures.iter().filter(|figure| is_switch(figure)) {
                let which = usize::from(figure.runs.is_pinned());
                let (ratio, time) = (figure.related.ratio.clone(), figure.value().ok());
                for (kind, value) in [(which, ratio), (2 + which, time)] {
                    let points = rows.entry((kind, figure.place().clone())).or_default();
                    points.extend(value.as_ref().and_then(point));
                }
            }
        }
        rows.retain(|_, points| points.len() > 1);
        for ((kind, _), points) in rows {
            self.rows[kind].push(points);
        }
    }

    fn has_several(&self) -> bool {
        self.rows.iter().any(|rows| !rows.is_empty())
    }
}

fn is_switch(figure: &Figure<'_>) -> bool {
    *figure.metric() == Metric::Hop && figure.swept().is_none() && figure.runs.ties().is_some()
}

/// A value of one session; `None` if its rounds show no error.
fn point(value: &Value) -> Option<Point> {
    let [session] = &value.sessions[..] else { return None };
    let logs: Vec<f64> = session.rounds.values().map(|value| value.ln()).collect();
    let within = stats::Contrast::mean(&logs)?;
    let hidden = session.between.hidden / session.estimate.value;
    Some(Point { log: within.estimate, error: within.error, hidden, rounds: logs.len() })
}

/// The spread of some machines; `None` unless one of them has several sessions.
pub fn of<'a>(machines: impl Iterator<Item = &'a MachineRows>) -> Option<Spread> {
    let machines: Vec<&MachineRows> = machines.filter(|machine| machine.has_several()).collect();
    let tried = (0..=MULTIPLES).map(|quarters| {
        let shown = quarters as f64 / 4.0;
        let kinds: [(f64, f64); KINDS] = std::array::from_fn(|kind| {
            let rows: Vec<&[Vec<Point>]> =
                machines.iter().map(|machine| &machine.rows[kind][..]).collect();
            let deviations = (1..=MOST).map(|thousandths| thousandths as f64 / 1000.0);
            let tried = deviations.map(|deviation| (unlikely(&rows, deviation, shown), deviation));
            tried.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
        });
        (kinds.iter().map(|(unlikely, _)| unlikely).sum::<f64>(), kinds, shown)
    });
    let (_, kinds, shown) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let [a, b, c, d] = kinds.map(|(_, deviation)| deviation);
    let machines = machines.len();
    (machines > 0).then_some(Spread { ratios: [a, b], times: [c, d], shown, machines })
}

/// How unlikely rows are, of each machine: the mean over its rows and sessions of twice the negative logarithm of the
/// likelihood.
fn unlikely(machines: &[&[Vec<Point>]], deviation: f64, shown: f64) -> f64 {
    let spread = Spread { shown, ..Spread::default() };
    let of_each = machines.iter().filter(|rows| !rows.is_empty());
    mean(of_each.map(|rows| mean(rows.iter().map(|row| unlikely_row(row, deviation, &spread)))))
}

fn unlikely_row(row: &[Point], deviation: f64, spread: &Spread) -> f64 {
    let centre = mean(row.iter().map(|point| point.log));
    mean(row.iter().map(|point| {
        let variance =
            point.error.powi(2) + spread.further(deviation, point.error, point.hidden).powi(2);
        // The mean of the row is nearer to its sessions than the truth is.
        let n = row.len() as f64;
        let square = (point.log - centre).powi(2) * n / (n - 1.0);
        variance.ln() + square / variance
    }))
}

/// Mean, or zero of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    stats::mean(&values.collect::<Vec<f64>>()).unwrap_or(0.0)
}

/// How many intervals of one session hold the mean of the machine's other sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// How many there are.
    pub sessions: usize,
    /// As they are printed.
    pub held: usize,
    /// Made of the rounds alone.
    pub without: usize,
}

/// Leave one machine out: the intervals of ratios and of times of each machine with [`MIN_ROUNDS`] sessions, widened by the
/// spread of the *other* machines.
pub fn held_out(machines: &BTreeMap<String, MachineRows>) -> BTreeMap<&str, [Held; 2]> {
    let mut held_out: BTreeMap<&str, [Held; 2]> = BTreeMap::new();
    for (name, machine) in machines {
        let others = machines.iter().filter(|(other, _)| *other != name).map(|(_, other)| other);
        let Some(spread) = of(others) else { continue };
        let deviations = [spread.ratios, spread.times];
        for (kind, rows) in machine.rows.iter().enumerate() {
            let deviation = deviations[kind / 2][kind % 2];
            for row in rows.iter().filter(|row| row.len() >= MIN_ROUNDS) {
                let held = &mut held_out.entry(name).or_default()[kind / 2];
                row.iter().for_each(|point| held.add(point, row, &spread, deviation));
            }
        }
    }
    held_out
}

impl Held {
    fn add(&mut self, point: &Point, row: &[Point], spread: &Spread, deviation: f64) {
        let sum: f64 = row.iter().map(|point| point.log).sum();
        let rest = (sum - point.log) / (row.len() - 1) as f64;
        let off = (point.log - rest).abs();
        let [within, further] = [point.rounds as f64 - 1.0, spread.freedom()]
            .map(|freedom| t_critical(CONFIDENCE, freedom).unwrap_or(f64::NAN));
        let within = within * point.error;
        let further = further * spread.further(deviation, point.error, point.hidden);
        self.sessions += 1;
        self.held += usize::from(off <= within.hypot(further));
        self.without += usize::from(off <= within);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use contract::message::Description;

    use super::*;
    use crate::testing;
    use crate::trials::{row, sessions};

    /// Sessions of a row: their logarithms, and the error of each.
    fn row_of(logs: &[f64], error: f64) -> Vec<Point> {
        logs.iter().map(|&log| Point { log, error, hidden: 0.0, rounds: 9 }).collect()
    }

    fn machine(rows: Vec<Vec<Point>>) -> MachineRows {
        MachineRows { rows: [rows, Vec::new(), Vec::new(), Vec::new()] }
    }

    #[test]
    fn the_spread_is_what_the_errors_leave() {
        // Deviations of 0.03 beside small errors, and of twice the errors where these are large.
        let quiet = machine(vec![row_of(&[-0.03, 0.03, -0.03, 0.03], 0.001); 3]);
        let busy = machine(vec![row_of(&[-0.4, 0.4, -0.4, 0.4], 0.2); 3]);
        let spread = of([&quiet, &busy].into_iter()).unwrap();
        // Of four sessions, the mean is nearer than the truth.
        assert!((spread.ratios[0] - 0.03 * (4f64 / 3.0).sqrt()).abs() < 0.001, "{spread:?}");
        assert!((spread.shown - (4.0 * 4.0 / 3.0 - 1.0f64).sqrt()).abs() < 0.15, "{spread:?}");
        assert_eq!(spread.machines, 2);
        let one = machine(Vec::new());
        assert_eq!(of([&one].into_iter()), None);
    }

    #[test]
    fn a_machine_is_judged_by_the_others() {
        let quiet = machine(vec![row_of(&[-0.01, 0.01, 0.0, -0.01, 0.01], 0.001); 2]);
        let wild = machine(vec![row_of(&[-0.4, 0.4, 0.0, -0.4, 0.4], 0.001); 2]);
        let machines = [("a", &quiet), ("b", &quiet), ("c", &wild)];
        let machines = machines.map(|(name, own)| (name.to_owned(), own.clone())).into();
        let held = held_out(&machines);
        assert_eq!(held["a"][0], Held { sessions: 10, held: 10, without: 2 });
        assert_eq!((held["c"][0].held, held["c"][1]), (2, Held::default()));
    }

    #[test]
    fn a_row_of_one_session_says_nothing_of_several() {
        let mut row = row("a");
        row.place.metric = Metric::Hop;
        let said = Description { hops: Some(1), ..testing::description(1) };
        for (times, count) in [(&[[90, 100, 110]][..], 0), (&[[90, 100, 110]; 2], 1)] {
            let mut records = sessions(&row, times);
            records.iter_mut().for_each(|record| record.said = Some(Arc::new(said.clone())));
            let mut machine = MachineRows::default();
            machine.add(&records);
            assert_eq!(machine.rows[2].len(), count);
        }
    }
}
