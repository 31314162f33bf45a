//! A duel with its verdicts.

use facts::Record;
use serde::Serialize;

use crate::figures::conditions::Conditions;
use crate::figures::doubt::Stated;
use crate::figures::doubts;
use crate::figures::duel::{self, Row, verdict};
use crate::figures::verdict::MARGIN;
use crate::figures::{Figures, provenance};

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
    /// What makes its findings less sure, loudest first.
    pub doubts: Vec<Stated>,
    /// Rows with their findings, in the plan's order.
    pub rows: Vec<Row>,
}

impl Duel {
    /// Judges the records of a duel.
    pub fn of(records: &[Record]) -> Self {
        let header = records.first().map(|record| &record.header);
        let margin = header.and_then(|run| run.margin).unwrap_or(MARGIN);
        let mut rows = duel::rows(records);
        verdict::judge(&mut rows, margin);
        Duel {
            sides: header.and_then(|run| run.sides.clone()).unwrap_or_default(),
            machine: provenance::machine(records),
            seed: header.map_or(0, |run| run.seed),
            confidence: verdict::CONFIDENCE,
            margin,
            doubts: doubts(records, &rows),
            rows,
        }
    }
}

/// Doubts about the records of a duel, the machine meanwhile and its rows.
fn doubts(records: &[Record], rows: &[Row]) -> Vec<Stated> {
    let figures = Figures::of(records);
    let conditions = Conditions::of(&figures).doubts(&figures);
    let of_rows = rows.iter().map(|row| (row.name.clone(), &row.doubts[..]));
    doubts::of_all(records, of_rows, conditions)
}
