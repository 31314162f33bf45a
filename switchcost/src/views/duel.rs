//! A duel with its verdicts.

use facts::Record;
use serde::Serialize;

use crate::figures::duel::{self, Row, verdict};
use crate::figures::provenance;
use crate::measure::quiet::Tally;

/// A duel as it is printed and written.
#[derive(Clone, Debug, Serialize)]
pub struct Duel {
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
    /// Rows with their findings, in the plan's order.
    pub rows: Vec<Row>,
}

impl Duel {
    /// Judges the records of a duel.
    pub fn of(records: &[Record]) -> Self {
        let header = records.first().map(|record| &record.header);
        let margin = header.and_then(|run| run.margin).unwrap_or(verdict::MARGIN);
        let mut rows = duel::rows(records);
        verdict::judge(&mut rows, margin);
        Duel {
            sides: header.and_then(|run| run.sides.clone()).unwrap_or_default(),
            machine: provenance::machine(records),
            seed: header.map_or(0, |run| run.seed),
            confidence: verdict::CONFIDENCE,
            margin,
            quiet: Tally::of(records).quiet(),
            rows,
        }
    }
}
