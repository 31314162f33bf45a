//! What the runs of two commands show apart from their figures.

use std::collections::BTreeSet;

use contract::message::VARYING;
use figures::grouped;
use record::{Record, Side};

/// Outputs of the runs of both sides of a row, and how they compare.
pub(crate) enum Outputs {
    Equal(String),
    /// A side's runs differ among themselves.
    Varying(&'static str),
    Different([String; 2]),
}

impl Outputs {
    /// Those of the trials of a row so far; `None` unless both sides have any.
    fn of_row(records: &[&Record]) -> Option<Self> {
        let [a, b] = [false, true].map(|is_second| {
            let records = records.iter().filter(|of| (of.row().place.side == Side::B) == is_second);
            records.filter_map(|record| record.output.clone()).collect::<BTreeSet<String>>()
        });
        let varies = |outputs: &BTreeSet<String>| outputs.len() > 1 || outputs.contains(VARYING);
        let (first, second) = a.first().zip(b.first())?;
        Some(match first == second {
            _ if varies(&a) => Outputs::Varying("A"),
            _ if varies(&b) => Outputs::Varying("B"),
            true => Outputs::Equal(first.clone()),
            false => Outputs::Different([first.clone(), second.clone()]),
        })
    }

    pub(crate) fn are_different(&self) -> bool {
        matches!(self, Outputs::Different(_))
    }

    /// What to say of them.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Outputs::Equal(output) => format!("Both put out the same in all runs ({output})."),
            Outputs::Varying(side) => format!("What {side} puts out differs from run to run."),
            Outputs::Different([a, b]) => {
                format!("DIFFERENT OUTPUT: A puts out {a}, and B {b}.")
            }
        }
    }
}

/// The outputs of each row.
pub(crate) fn outputs(records: &[Record]) -> Vec<Outputs> {
    let read = records.iter().filter(|record| record.output.is_some());
    let rows = grouped(read.map(|record| (record.row().place.cell(), record)));
    rows.iter().filter_map(|(_, records)| Outputs::of_row(records)).collect()
}

/// What is to be known of the runs of commands, a sentence each.
pub(crate) fn notes(records: &[Record]) -> Vec<String> {
    let mut notes: Vec<String> = outputs(records).iter().map(Outputs::sentence).collect();
    notes.dedup();
    for (side, name) in [(Side::A, "A"), (Side::B, "B")] {
        let mut runs = records.iter().filter(|record| record.row().place.side == side);
        let left = runs.clone().filter(|record| record.is_of_runs());
        if let Some(names) = left.filter_map(|record| record.left_behind.as_ref()).next() {
            notes.push(format!("{name} left processes running, and they were ended: {names}."));
        }
        if runs.any(|record| record.peak_is_bound) {
            notes.push(format!(
                "Peak memory of {name}: the program that starts the runs has as much, and {name} no more."
            ));
        }
    }
    notes
}
