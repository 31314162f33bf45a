//! What the runs of two commands show apart from their figures.

use std::collections::BTreeSet;

use contract::message::VARYING;
use record::{Record, Side};

/// Outputs of the runs of both sides, and how they compare.
pub(crate) enum Outputs {
    /// No command ran, or nothing read what it put out.
    Unknown,
    Equal(String),
    /// A side's runs differ among themselves.
    Varying(&'static str),
    Different([String; 2]),
}

impl Outputs {
    /// The outputs of all runs so far.
    pub(crate) fn of(records: &[Record]) -> Self {
        let [a, b] = [false, true].map(|is_second| {
            let records = records.iter().filter(|of| (of.row().place.side == Side::B) == is_second);
            records.filter_map(|record| record.output.clone()).collect::<BTreeSet<String>>()
        });
        let varies = |outputs: &BTreeSet<String>| outputs.len() > 1 || outputs.contains(VARYING);
        match (a.first(), b.first()) {
            _ if varies(&a) => Outputs::Varying("A"),
            _ if varies(&b) => Outputs::Varying("B"),
            (Some(a), Some(b)) if a == b => Outputs::Equal(a.clone()),
            (Some(a), Some(b)) => Outputs::Different([a.clone(), b.clone()]),
            _ => Outputs::Unknown,
        }
    }

    /// What to say of them.
    pub(crate) fn sentence(&self) -> Option<String> {
        Some(match self {
            Outputs::Unknown => return None,
            Outputs::Equal(output) => format!("Both put out the same in all runs ({output})."),
            Outputs::Varying(side) => format!("What {side} puts out differs from run to run."),
            Outputs::Different([a, b]) => format!("DIFFERENT OUTPUT: A puts out {a}, and B {b}."),
        })
    }
}

/// What is to be known of the runs of commands, a sentence each.
pub(crate) fn notes(records: &[Record]) -> Vec<String> {
    let mut notes: Vec<String> = Outputs::of(records).sentence().into_iter().collect();
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
