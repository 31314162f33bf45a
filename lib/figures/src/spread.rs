//! Estimates [`Spread`]: how far sessions of one machine differ beyond what the intervals within each of them tell.
//!
//! For each switch that several sessions of a machine measured, the variance of the sessions' logarithms less the mean of
//! their squared standard errors is what they differ by (a random-effects fit, by moments). The mean over the rows of a
//! machine, and then over the machines, has the same weight for each machine, however many rows it has.

use std::collections::BTreeMap;

use record::Metric;
use stats::{CONFIDENCE, Contrast, MIN_ROUNDS};

use super::between::Spread;
use super::cube::Figures;
use super::figure::Figure;
use super::value::Value;

/// What the sessions of one machine say of its switches.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Unpinned and pinned ratios: of each the logarithm in every session.
    ratios: [Vec<Vec<Contrast>>; 2],
    /// The same of times.
    times: [Vec<Vec<Contrast>>; 2],
    sessions: usize,
}

impl Machine {
    /// Adds the switches of a file with several sessions. Those of steady turns wait until several machines have
    /// them: they may differ by other amounts than those after a pause.
    pub fn add(&mut self, figures: &Figures<'_>) {
        if figures.records.iter().any(|record| record.header.steady) {
            return;
        }
        for figure in figures.iter().filter(|figure| is_switch(figure)) {
            let which = usize::from(figure.runs.is_pinned());
            for (value, rows) in [
                (figure.value().ok(), &mut self.times[which]),
                (figure.related.ratio.clone(), &mut self.ratios[which]),
            ] {
                let row: Vec<Contrast> = value.iter().flat_map(logs).collect();
                self.sessions = self.sessions.max(row.len());
                rows.extend((row.len() > 1).then_some(row));
            }
        }
    }
}

fn is_switch(figure: &Figure<'_>) -> bool {
    *figure.metric() == Metric::Hop && figure.swept().is_none() && figure.runs.ties().is_some()
}

/// The logarithm of a value in each session, with its standard error.
fn logs(value: &Value) -> Vec<Contrast> {
    let logs = value.sessions.iter().filter_map(|session| {
        Contrast::mean(&session.rounds.values().map(|value| value.ln()).collect::<Vec<f64>>())
    });
    logs.collect()
}

/// The spread of some machines; `None` unless one of them has several sessions.
pub fn of<'a>(machines: impl Iterator<Item = &'a Machine>) -> Option<Spread> {
    let machines: Vec<&Machine> = machines.filter(|machine| machine.sessions > 1).collect();
    let deviation = |kind: fn(&Machine) -> &[Vec<Vec<Contrast>>; 2], which: usize| {
        let rows = machines.iter().map(|machine| &kind(machine)[which]);
        let rows = rows.filter(|rows| !rows.is_empty());
        let of_each = rows.map(|rows| mean(rows.iter().map(|row| excess(row))));
        mean(of_each).max(0.0).sqrt()
    };
    // Of a mean of variances with equal weights (Satterthwaite).
    let freedom: f64 = machines.iter().map(|machine| 1.0 / (machine.sessions - 1) as f64).sum();
    (!machines.is_empty()).then(|| Spread {
        ratios: [0, 1].map(|which| deviation(|machine| &machine.ratios, which)),
        times: [0, 1].map(|which| deviation(|machine| &machine.times, which)),
        freedom: machines.len().pow(2) as f64 / freedom,
        machines: machines.len(),
    })
}

/// Variance of the sessions less what their own errors explain.
fn excess(row: &[Contrast]) -> f64 {
    let centre = mean(row.iter().map(|session| session.estimate));
    let squares: f64 = row.iter().map(|session| (session.estimate - centre).powi(2)).sum();
    squares / (row.len() - 1) as f64 - mean(row.iter().map(|session| session.error.powi(2)))
}

/// Mean, or zero of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    stats::mean(&values.collect::<Vec<f64>>()).unwrap_or(0.0)
}

/// Leave one machine out: how many intervals of one session, widened by the spread of the *other* machines, hold the
/// mean of the machine's other sessions; how many do without that; and how many there are. Ratios of switches, on
/// machines with [`MIN_ROUNDS`] sessions.
pub fn held_out(machines: &BTreeMap<String, Machine>) -> [usize; 3] {
    let mut counts = [0; 3];
    for (name, machine) in machines {
        let others = machines.iter().filter(|(other, _)| *other != name).map(|(_, other)| other);
        let Some(spread) = of(others) else { continue };
        let t = stats::t_critical(CONFIDENCE, spread.freedom).unwrap_or(f64::NAN);
        for (which, rows) in machine.ratios.iter().enumerate() {
            for row in rows.iter().filter(|row| row.len() >= MIN_ROUNDS) {
                let sum: f64 = row.iter().map(|session| session.estimate).sum();
                for session in row {
                    let rest = (sum - session.estimate) / (row.len() - 1) as f64;
                    let off = (session.estimate - rest).abs();
                    let Some(interval) = session.interval(CONFIDENCE) else { continue };
                    let within = interval.high - interval.estimate;
                    counts[0] += usize::from(off <= within.hypot(t * spread.ratios[which]));
                    counts[1] += usize::from(off <= within);
                    counts[2] += 1;
                }
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use contract::message::Description;

    use super::*;
    use crate::testing;
    use crate::trials::{row, sessions};

    #[test]
    fn the_spread_is_what_the_errors_leave() {
        let row_of = |estimates: [f64; 2]| {
            let each = estimates.map(|mean| [mean - 0.3, mean + 0.3].repeat(5));
            each.iter().map(|values| Contrast::mean(values).unwrap()).collect::<Vec<_>>()
        };
        // Variances of 0.02 and 0.18, of which 0.01 is the squared error of each.
        let ratios = [vec![row_of([0.0, 0.2]), row_of([0.1, 0.7])], Vec::new()];
        let two = Machine { ratios, sessions: 2, ..Machine::default() };
        let one = Machine { sessions: 1, ..Machine::default() };
        let spread = of([&one, &two].into_iter()).unwrap();
        assert!((spread.ratios[0] - 0.09f64.sqrt()).abs() < 1e-9, "{spread:?}");
        assert_eq!((spread.ratios[1], spread.times, spread.freedom), (0.0, [0.0; 2], 1.0));
        assert_eq!((spread.machines, of([&one].into_iter())), (1, None));
    }

    #[test]
    fn a_row_of_one_session_says_nothing_of_several() {
        let mut row = row("a");
        row.place.metric = Metric::Hop;
        let mut records = sessions(&row, &[[90, 100, 110]]);
        let said = Description { hops: Some(1), ..testing::description(1) };
        records.iter_mut().for_each(|record| record.said = Some(Arc::new(said.clone())));
        let mut machine = Machine::default();
        machine.add(&Figures::of(&records));
        assert_eq!((machine.sessions, machine.times[0].len()), (1, 0));
        records.iter_mut().for_each(|record| Arc::make_mut(&mut record.header).steady = true);
        let mut steady = Machine::default();
        steady.add(&Figures::of(&records));
        assert_eq!(steady.sessions, 0);
    }
}
