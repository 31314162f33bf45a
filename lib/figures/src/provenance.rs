//! Where records come from: machines, builds and runtimes, and how two of them differ.

use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use record::{Build, Record, Run};
use serde::Serialize;
use serde_json::{Map, Value};

use super::basis::{grouped, unique};

/// A fact by which two runs differ.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Difference {
    pub name: String,
    /// Its value in the earlier run.
    pub old: String,
    /// Its value in the later run.
    pub new: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.name, self.old, self.new)
    }
}

/// Runs that records are of, each once.
pub fn runs(records: &[Record]) -> Vec<&Run> {
    let headers = records.iter().map(|record| (Arc::as_ptr(&record.header), &*record.header));
    grouped(headers).into_iter().map(|(_, same)| same[0]).collect()
}

/// The machines that records are from, in a line.
pub fn machines(records: &[Record]) -> String {
    unique(runs(records).into_iter().map(|run| run.machine.summary())).join("; and ")
}

/// Machine, kernel and Tokio of the first run, in a short line.
pub fn machine(records: &[Record]) -> String {
    let Some(first) = records.first() else { return String::new() };
    let runtimes = runtimes(records);
    let mut versions: Vec<&str> =
        runtimes.iter().filter_map(|name| name.strip_prefix("tokio ")).collect();
    versions.sort_unstable();
    let tokio = if versions.is_empty() { "" } else { ", Tokio " };
    first.machine().summary() + tokio + &versions.join(" and ")
}

/// Start of the first process, as in `2026-11-23T10:00:00Z`; `None` beyond the year 9999.
pub fn started(records: &[Record]) -> Option<String> {
    let first = records.iter().map(|record| record.started).min()?;
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(first))?;
    let mut text = String::new();
    write!(text, "{}", humantime::format_rfc3339_seconds(time)).ok()?;
    Some(text)
}

/// Runtimes of records with their versions.
pub fn runtimes(records: &[Record]) -> Vec<String> {
    let runtimes = records.iter().filter_map(|record| record.said.as_ref()?.runtime.as_ref());
    unique(runtimes.map(|runtime| {
        // Go's has its name in it.
        let version = runtime.version.as_deref().unwrap_or_default();
        let version = version.strip_prefix(&runtime.name).unwrap_or(version);
        format!("{} {version}", runtime.name).trim_end().to_owned()
    }))
}

/// Facts of their machines, and of how they were measured, by which any new run differs from an old one.
pub fn differing_machines(old: Option<&&Run>, new: &[&Run]) -> Vec<Difference> {
    let mut differences = differing(
        old,
        new,
        |a, b| a.machine.same_machine(&b.machine),
        |run, name| run.machine.get(name),
    );
    let other = old.and_then(|old| Some([*old, *new.iter().find(|new| new.steady != old.steady)?]));
    differences.extend(other.map(|runs| {
        let [old, new] = runs.map(|run| if run.steady { "steady" } else { "after a pause" });
        Difference { name: "turns".to_owned(), old: old.to_owned(), new: new.to_owned() }
    }));
    differences
}

/// Facts of their builds by which any new run differs from an old one, if both know them. Uncommitted changes do not make
/// another build: they are a doubt.
pub fn differing_builds(old: Option<&&Run>, new: &[&Run]) -> Vec<Difference> {
    differing(old, new, |a, b| differing_facts(&a.build, &b.build), |run, name| run.build.get(name))
}

/// Names of the facts of two builds that differ.
fn differing_facts(a: &Build, b: &Build) -> Vec<String> {
    let facts = a.iter().filter(|(name, _)| *name != "dirty");
    let unlike = facts.filter(|(name, fact)| b.get(*name).is_some_and(|other| other != *fact));
    unlike.map(|(name, _)| name.clone()).collect()
}

fn differing<'a>(
    old: Option<&&'a Run>,
    new: &[&'a Run],
    names: impl Fn(&Run, &Run) -> Vec<String>,
    fact: fn(&'a Run, &str) -> Option<&'a Value>,
) -> Vec<Difference> {
    let Some(old) = old else { return Vec::new() };
    let unlike =
        new.iter().flat_map(|new| names(old, new).into_iter().map(move |name| (name, new)));
    let differences = grouped(unlike).into_iter().map(|(name, new)| {
        let [old, new] = [old, new[0]].map(|run| fact(run, &name).cloned().unwrap_or_default());
        let (old, new) = unequal_parts(old, new);
        Difference { old: shown(&old), new: shown(&new), name }
    });
    differences.collect()
}

/// Of two lists of named facts those that differ; anything else as it is.
fn unequal_parts(old: Value, new: Value) -> (Value, Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            (parts_unlike(&old, &new), parts_unlike(&new, &old))
        }
        unequal => unequal,
    }
}

/// The parts of a fact that another one does not have, or has otherwise.
fn parts_unlike(fact: &Map<String, Value>, other: &Map<String, Value>) -> Value {
    let parts = fact.iter().filter(|&(name, part)| other.get(name) != Some(part));
    Value::Object(parts.map(|(name, part)| (name.clone(), part.clone())).collect())
}

/// A value of a record for people.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(parts) => {
            let known = parts.iter().filter(|(_, value)| !value.is_null());
            let known =
                known.map(|(name, part)| format!("{} {}", name.replace('_', " "), shown(part)));
            known.collect::<Vec<_>>().join(", ")
        }
        Value::Number(number) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    #[test]
    fn a_start_is_told_in_utc() {
        let records = [1_700_000_000_500, 1_700_000_100_000].map(|started| {
            let mut record = testing::record("p", 1, &[1]);
            record.trial.started = started;
            record
        });
        assert_eq!(started(&records).as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(started(&[]), None);
    }

    #[test]
    fn of_two_lists_the_unequal_facts_are_shown() {
        let old = json!({ "meltdown": "PTI", "l1tf": null, "mds": true });
        let new = json!({ "meltdown": "PTI", "page_size": 4096 });
        let (old, new) = unequal_parts(old, new);
        assert_eq!([shown(&old), shown(&new)], ["mds yes", "page size 4096"]);
    }
}
