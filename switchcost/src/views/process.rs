//! One process, with the verdict of its counters and the doubts about it.

use figures::doubt::Doubt;
use figures::doubts;
use figures::evidence::{Evidence, Meaning};
use record::{Metric, Record};
use serde::{Serialize, Serializer};
use serde_json::json;

/// A process that was measured by itself.
pub(crate) struct Observed {
    pub(crate) record: Record,
    pub(crate) verdict: Option<Meaning>,
    pub(crate) notes: Vec<Doubt>,
}

impl Observed {
    pub(crate) fn of(record: Record) -> Self {
        let verdict = Evidence::of(&[&record], &Metric::Hop).map(|evidence| evidence.verdict);
        let notes = doubts::of_process(&record);
        Observed { record, verdict, notes }
    }
}

impl Serialize for Observed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = &self.record;
        let notes: Vec<String> = self.notes.iter().map(ToString::to_string).collect();
        let report = json!({
            "run": *record.header,
            "description": record.said.as_deref(),
            "group": record.group.as_deref(),
            "trial": record.trial,
            "verdict": self.verdict,
            "notes": notes,
        });
        report.serialize(serializer)
    }
}
