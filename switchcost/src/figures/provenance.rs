//! Where records come from: machines, builds and runtimes, and how two of them differ.

use std::fmt;
use std::sync::Arc;

use contract::units::counted;
use facts::{Record, Run};
use serde::Serialize;
use serde_json::{Map, Value};

/// A fact that differs.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Fact {
    /// Name in a record.
    pub name: String,
    /// First value.
    pub old: String,
    /// Other value.
    pub new: String,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.name, self.old, self.new)
    }
}

/// Runs that records are of, each once.
pub fn runs(records: &[Record]) -> Vec<&Run> {
    let mut runs: Vec<&Arc<Run>> = Vec::new();
    for record in records {
        if !runs.iter().any(|run| Arc::ptr_eq(run, &record.header)) {
            runs.push(&record.header);
        }
    }
    runs.into_iter().map(|run| &**run).collect()
}

/// Texts in ascending order, each once.
pub fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Machines of some records, each in a line with its facts.
pub fn machines(records: &[Record]) -> String {
    let mut machines: Vec<String> = Vec::new();
    for run in runs(records) {
        let summary = run.machine.summary();
        if !machines.contains(&summary) {
            machines.push(summary);
        }
    }
    machines.join("; and ")
}

/// Machine, kernel and Tokio of the first run, in a short line.
pub fn machine(records: &[Record]) -> String {
    let Some(first) = records.first() else {
        return String::new();
    };
    let machine = first.machine();
    let cpu = machine.cpu_model.as_deref().unwrap_or("unknown CPU");
    let words = ["(R)", "(TM)", " Processor", " CPU"];
    let cpu = words.iter().fold(cpu.to_owned(), |cpu, word| cpu.replace(word, ""));
    let number = |list: &Option<String>| Some(facts::machine::cpu_list(list.as_ref()?)?.len());
    let cpus = match (number(&machine.cpus_online), number(&machine.affinity)) {
        (Some(online), Some(allowed)) if allowed < online => {
            format!(", {allowed} of {online} CPUs")
        }
        (Some(online), _) => format!(", {}", counted(online, "CPU")),
        (None, _) => String::new(),
    };
    let host = match machine.virtualisation.as_deref() {
        None | Some("none") => String::new(),
        Some(host) => format!(" under {host}"),
    };
    let kernel = machine.kernel_release.as_deref().unwrap_or("of unknown release");
    let runtimes = records.iter().filter_map(|record| record.runtime.as_ref());
    let tokio = runtimes
        .filter(|runtime| runtime.name == "tokio")
        .filter_map(|runtime| Some(format!(", Tokio {}", runtime.version.as_ref()?)));
    format!("{cpu}{cpus}{host}, Linux {kernel}{}", distinct(tokio).concat())
}

/// Runtimes of records with their versions.
pub fn runtimes(records: &[Record]) -> Vec<String> {
    let runtimes = records.iter().filter_map(|record| record.runtime.as_ref());
    distinct(runtimes.map(|runtime| {
        // Go's has its name in it.
        let version = runtime.version.as_deref().unwrap_or_default();
        let version = version.strip_prefix(&runtime.name).unwrap_or(version);
        format!("{} {version}", runtime.name).trim_end().to_owned()
    }))
}

/// Facts of their machines by which any new run differs from the first old one.
pub fn differing_machines(old: &[&Run], new: &[&Run]) -> Vec<Fact> {
    let names = |a: &Run, b: &Run| a.machine.same_machine(&b.machine);
    differing(old, new, names, |run| serde_json::to_value(&run.machine))
}

/// The same of their builds.
pub fn differing_builds(old: &[&Run], new: &[&Run]) -> Vec<Fact> {
    let names = |a: &Run, b: &Run| a.build.same_build(&b.build);
    differing(old, new, names, |run| serde_json::to_value(&run.build))
}

fn differing(
    old: &[&Run],
    new: &[&Run],
    names: impl Fn(&Run, &Run) -> Vec<String>,
    facts: impl Fn(&Run) -> serde_json::Result<Value>,
) -> Vec<Fact> {
    let Some(old) = old.first() else {
        return Vec::new();
    };
    let mut differing: Vec<Fact> = Vec::new();
    for new in new {
        for name in names(old, new) {
            if differing.iter().any(|fact| fact.name == name) {
                continue;
            }
            // A header is read from JSON, so it can be written as JSON.
            let value = |run| facts(run).map_or(Value::Null, |mut all| all[&name].take());
            let (old, new) = unequal_parts(value(old), value(new));
            differing.push(Fact { name, old: shown(&old), new: shown(&new) });
        }
    }
    differing
}

/// Of two lists of named facts those that differ; anything else as it is.
fn unequal_parts(old: Value, new: Value) -> (Value, Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let unlike = |these: &Map<String, Value>, those: &Map<String, Value>| {
                let parts = these.iter().filter(|&(k, v)| those.get(k) != Some(v));
                Value::Object(parts.map(|(k, v)| (k.clone(), v.clone())).collect())
            };
            (unlike(&old, &new), unlike(&new, &old))
        }
        unequal => unequal,
    }
}

/// A value of a record for people.
pub fn shown(value: &Value) -> String {
    let all = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => all(values.iter().map(shown).collect()),
        Value::Object(parts) => {
            let known = parts.iter().filter(|(_, value)| !value.is_null());
            all(known.map(|(name, v)| format!("{} {}", name.replace('_', " "), shown(v))).collect())
        }
        Value::Number(number) => number.to_string(),
    }
}
