//! Two sides with their verdicts: the builds or settings of a duel, or two files.

use facts::Record;
use serde::Serialize;

use crate::figures::conditions::Conditions;
use crate::figures::doubt::Doubt;
use crate::figures::finding::Row;
use crate::figures::verdict::MARGIN;
use crate::figures::{Figures, doubts, pairs, provenance};

pub(crate) mod files;

/// A comparison as it is printed and written.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What the sides are called, and what they were made of.
    pub(crate) sides: [String; 2],
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) machine: String,
    /// Seed of all orders of a duel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    pub(crate) confidence: f64,
    /// Largest change that counts as none, as a share.
    pub(crate) margin: f64,
    /// What makes its findings less sure, loudest first.
    pub(crate) doubts: Vec<Doubt>,
    /// How files differ in more than their figures, a sentence each, and what is to be known of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// True if both sides are of one model of CPU.
    #[serde(skip)]
    pub(crate) is_one_cpu: bool,
    /// Rows with their findings, in the plan's order.
    pub rows: Vec<Row>,
}

impl Comparison {
    pub(crate) fn of_duel(records: &[Record]) -> Self {
        let header = records.first().map(|record| &record.header);
        let margin = header.and_then(|run| run.margin).unwrap_or(MARGIN);
        let figures = Figures::of(records);
        let mut rows = pairs::rows(&figures);
        pairs::judge(&mut rows, margin);
        let of_rows = rows.iter().map(|row| (row.name.clone(), &row.doubts[..]));
        let conditions = Conditions::of(&figures).doubts(&figures);
        Comparison {
            sides: header.and_then(|run| run.sides.clone()).unwrap_or_default(),
            machine: provenance::machine(records),
            seed: Some(header.map_or(0, |run| run.seed)),
            confidence: pairs::CONFIDENCE,
            margin,
            doubts: doubts::of_all(records, of_rows, conditions),
            notes: Vec::new(),
            is_one_cpu: true,
            rows,
        }
    }
}
