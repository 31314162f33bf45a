//! Files of records that no program has measured, of which the truth is known.

use harness::record::{Metric, PlanPosition, Record};
use harness::recorder::{Series, Summary};
use switchcost::compare::{Comparison, Source, Verdict, compare};
use switchcost::render;

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

/// The one sample of a run with this mean, which a mean with a fraction lies close to.
fn samples(mean: f64) -> Summary {
    let ns = mean as u64;
    Summary {
        count: 1,
        mean,
        stddev: 0.0,
        min: ns,
        p50: ns,
        p90: ns,
        p99: ns,
        p999: ns,
        max: mean.ceil() as u64,
        series: Series {
            batch: 1,
            sums: vec![ns],
        },
    }
}

/// A run of one hop in one case of a plan.
pub(crate) fn record(case: u32, round: u32, hop: f64) -> Record {
    Record {
        plan: Some(PlanPosition {
            run: 0,
            command: None,
            section: "What a switch costs".to_owned(),
            metric: Metric::Hop,
            row: format!("case {case}"),
            column: String::new(),
            also: Vec::new(),
            baseline: None,
            versus: None,
            over: None,
            twin: false,
            index: case,
            round,
            order: case,
            seed: 1,
        }),
        partial: false,
        hops: Some(1),
        samples: Some(samples(hop)),
        ..Record::empty("synthetic", Vec::new())
    }
}

/// A file of so many cases and rounds, in which case `k` takes about `(k + 1) · 500` ns.
pub(crate) fn file(cases: u32, rounds: u32) -> Vec<Record> {
    let each = |round| (0..cases).map(move |case| record(case, round, centre(case)));
    (0..rounds).flat_map(each).collect()
}

pub(crate) fn centre(case: u32) -> f64 {
    f64::from(case + 1) * 500.0
}

pub(crate) fn case_of(record: &Record) -> u32 {
    record.plan.as_ref().unwrap().index
}

/// Gives each run of a file a mean of its own.
pub(crate) fn draw(file: &mut [Record], mut mean: impl FnMut(u32) -> f64) {
    for record in file {
        let mean = mean(case_of(record));
        record.samples = Some(samples(mean));
    }
}

pub(crate) fn pair(old: &[Record], new: &[Record]) -> Comparison {
    let source = |name, records| Source { name, records };
    compare(&[source("old.jsonl", old), source("new.jsonl", new)])
}

pub(crate) fn verdicts(comparison: &Comparison) -> Vec<Verdict> {
    comparison.changes().map(|(_, _, c)| c.verdict).collect()
}

pub(crate) fn text(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    render::compare::text(comparison, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}
