//! Files of records that no program has measured, of which the truth is known.

use std::sync::Arc;

use contract::message::Distribution;
use figures::Figures;
use figures::quotient::{Compared, Quotient};
use figures::verdict::{MARGIN, Verdict};
use record::{Place, Record, Row, Run, SCHEMA, Samples, Trial};
use switchcost::render::{Format, Report};
use switchcost::views::comparison::Comparison;

/// Log-normal noise from a seed.
pub(crate) struct Noise(fastrand::Rng);

impl Noise {
    pub(crate) fn of(seed: u64) -> Self {
        Noise(fastrand::Rng::with_seed(seed))
    }

    /// A factor around 1 whose logarithm has this standard deviation (Box and Muller).
    pub(crate) fn factor(&mut self, sd: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.f64()).ln()).sqrt();
        (sd * radius * (std::f64::consts::TAU * self.0.f64()).cos()).exp()
    }
}

/// The one sample of a process with this mean, which a mean with a fraction lies close to.
fn samples(mean: f64) -> Samples {
    let ns = mean as u64;
    Samples {
        distribution: Distribution {
            count: 1,
            mean,
            stddev: Some(0.0),
            min: ns,
            p50: ns,
            p90: ns,
            p99: ns,
            max: mean.ceil() as u64,
        },
        ..Samples::of(&[ns]).unwrap()
    }
}

/// The header of a run with so many cases.
pub(crate) fn header(cases: u32) -> Run {
    let rows = (0..cases).map(|case| {
        let (section, row) = ("What a switch costs".to_owned(), format!("case {case}"));
        let mut row = Row { place: Place { section, row, ..Place::default() }, ..Row::default() };
        row.command.program = "synthetic".to_owned();
        row
    });
    Run { schema: SCHEMA, seed: 1, rows: rows.collect(), ..Run::default() }
}

/// A process of one hop in one case of a plan.
pub(crate) fn process(header: &Arc<Run>, case: u32, round: u32, hop: f64) -> Record {
    let said = serde_json::json!({
        "contract": 1, "program": "synthetic", "version": "1", "tasks": 1, "hops": 1, "claim": "no-switch",
        "passes": [],
    });
    let said = Arc::new(serde_json::from_value(said).unwrap());
    let trial = Trial { row: case, round, samples: Some(samples(hop)), ..Trial::begin() };
    Record::new(header.clone(), Some(said), None, trial)
}

/// The same in a run of a dozen cases.
pub(crate) fn record(case: u32, round: u32, hop: f64) -> Record {
    process(&Arc::new(header(12)), case, round, hop)
}

/// The header of one record, to change it.
pub(crate) fn header_of(record: &mut Record) -> &mut Run {
    Arc::make_mut(&mut record.header)
}

/// The row of one record, to change it.
pub(crate) fn row_of(record: &mut Record) -> &mut Row {
    let row = record.trial.row as usize;
    &mut header_of(record).rows[row]
}

/// A file of so many cases and rounds, in which case `k` takes about `(k + 1) · 500` ns.
pub(crate) fn file(cases: u32, rounds: u32) -> Vec<Record> {
    let header = Arc::new(header(cases));
    let each = |round| {
        let header = &header;
        (0..cases).map(move |case| process(header, case, round, centre(case)))
    };
    (0..rounds).flat_map(each).collect()
}

pub(crate) fn centre(case: u32) -> f64 {
    f64::from(case + 1) * 500.0
}

/// Gives each run of a file a mean of its own.
pub(crate) fn draw(file: &mut [Record], mut mean: impl FnMut(u32) -> f64) {
    for record in file {
        record.trial.samples = Some(samples(mean(record.trial.row)));
    }
}

/// Comparison of two files.
pub(crate) fn pair(old: &[Record], new: &[Record]) -> Comparison {
    pair_within(old, new, MARGIN)
}

/// The same with a margin.
pub(crate) fn pair_within(old: &[Record], new: &[Record], margin: f64) -> Comparison {
    let (old, new) = (Figures::of(old), Figures::of(new));
    Comparison::of_files(["old.jsonl", "new.jsonl"], [&old, &new], margin)
}

/// The quotient of each row that has one.
pub(crate) fn quotients(comparison: &Comparison) -> Vec<&Quotient> {
    comparison.rows.iter().flat_map(|row| &row.quotients).collect()
}

pub(crate) fn verdicts(comparison: &Comparison) -> Vec<Verdict> {
    quotients(comparison).iter().map(|quotient| quotient.verdict).collect()
}

/// Names of the rows that are worse by more than `limit`.
pub(crate) fn worse_than(comparison: &Comparison, limit: f64) -> Vec<&str> {
    let is_worse =
        |row: &&Compared| row.quotients.iter().any(|quotient| quotient.is_worse_than(limit));
    comparison.rows.iter().filter(is_worse).map(|row| row.name.as_str()).collect()
}

/// Its text, of which lines break anywhere.
pub(crate) fn csv(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    Format::Csv.write(comparison, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

pub(crate) fn text(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    comparison.documents()[0].text(120, &mut text).unwrap();
    String::from_utf8(text).unwrap().replace("\n  ", " ")
}
