//! Where machines, builds and flags are not the same: what a comparison has to say first.

use std::collections::BTreeMap;
use std::fmt;

use record::{Record, Run};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Source;
use crate::figures::cases::{Cases, Runs};
use crate::figures::notes::runs;

/// Difference between a further file and the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Which file, from 1.
    pub file: usize,
    /// Things that differ.
    pub subject: Subject,
    /// The facts that differ.
    pub facts: Vec<Fact>,
}

/// Subject of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The machine, its kernel or its settings.
    Machine,
    /// Sources or compiler of the programs.
    Build,
    /// The flags of cases with the same name.
    Flags,
}

/// A fact that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Its name in a record.
    pub name: String,
    /// Its value in the first file.
    pub old: String,
    /// Its value in the other.
    pub new: String,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.name, self.old, self.new)
    }
}

/// Compares where the records come from with where those of the first file do.
pub(super) fn of(sources: &[Source<'_>], cases: &[Cases<'_>]) -> Vec<Mark> {
    let Some((first, old)) = sources.first().zip(cases.first()) else {
        return Vec::new();
    };
    let mut marks = Vec::new();
    for ((file, source), new) in (1..).zip(&sources[1..]).zip(&cases[1..]) {
        for (subject, facts) in [
            (Subject::Machine, machines(&runs(first.records), &runs(source.records))),
            (Subject::Build, builds(&runs(first.records), &runs(source.records))),
            (Subject::Flags, flags(old, new)),
        ] {
            if !facts.is_empty() {
                marks.push(Mark { file, subject, facts });
            }
        }
    }
    marks
}

/// The facts of their machines by which any new run differs from the first old one.
pub(crate) fn machines(old: &[&Run], new: &[&Run]) -> Vec<Fact> {
    differing(
        old,
        new,
        |a, b| a.machine.same_machine(&b.machine),
        |r| serde_json::to_value(&r.machine),
    )
}

/// The same of their builds.
pub(crate) fn builds(old: &[&Run], new: &[&Run]) -> Vec<Fact> {
    differing(old, new, |a, b| a.build.same_build(&b.build), |r| serde_json::to_value(&r.build))
}

/// Each fact by which any new run differs from the first old one.
fn differing(
    old: &[&Run],
    new: &[&Run],
    names: impl Fn(&Run, &Run) -> Vec<&'static str>,
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
            let value = |record| facts(record).map_or(Value::Null, |mut all| all[name].take());
            let (old, new) = unequal_parts(value(old), value(new));
            differing.push(Fact { name: name.to_owned(), old: shown(&old), new: shown(&new) });
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

/// Each flag that cases with the same name do not share, and one of those cases. The same name
/// promises the same question; other iterations or tasks ask another.
fn flags(old: &Cases<'_>, new: &Cases<'_>) -> Vec<Fact> {
    let mut found: BTreeMap<String, (Fact, String, usize)> = BTreeMap::new();
    let own = old.in_order().into_iter();
    for (key, runs) in own.filter(|(_, runs)| !runs.view.further) {
        let Some(other) = new.get(key) else { continue };
        let Some((before, after)) = params(runs).zip(params(other)) else {
            continue;
        };
        let differing = unequal(&before, &after).into_iter();
        for (name, old, new) in differing.filter(|differing| !is_calibration(differing)) {
            found.entry(name.clone()).and_modify(|(_, _, cases)| *cases += 1).or_insert_with(
                || {
                    let fact = Fact { name, old: shown(&old), new: shown(&new) };
                    (fact, key.name(), 1)
                },
            );
        }
    }
    let described = |(fact, case, cases): (Fact, String, usize)| Fact {
        name: match cases {
            1 => format!("{} of '{case}'", fact.name),
            n => format!("{} of '{case}' and {} more", fact.name, n - 1),
        },
        ..fact
    };
    found.into_values().map(described).collect()
}

/// True for numbers of iterations that may be the runner's own choice: within a factor of two.
fn is_calibration((name, old, new): &(String, Value, Value)) -> bool {
    let counts = old.as_u64().zip(new.as_u64());
    name == "iterations" && counts.is_some_and(|(a, b)| a.max(b) < a.min(b).saturating_mul(2))
}

/// Command line of a case, its CPUs and its scheduling policy.
fn params(runs: &Runs<'_>) -> Option<Map<String, Value>> {
    let record: &Record = runs.all.first()?;
    let mut params = flags_of(&record.args);
    if runs.view.metric.is_slope() {
        // A slope is made of runs with different counts.
        params.remove("tasks");
    }
    let iterations = record.samples.as_ref().map(|samples| samples.count);
    for (name, value) in [
        ("program", Value::from(record.program.clone())),
        ("iterations", iterations.into()),
        ("policy", record.policy.clone().into()),
        ("cpus", record.cpus.clone().into()),
    ] {
        params.insert(name.to_owned(), value);
    }
    Some(params)
}

/// Flags by name. A word behind a flag that is none itself is taken for its value.
fn flags_of(args: &[String]) -> Map<String, Value> {
    let mut flags = Map::new();
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        let Some(flag) = arg.strip_prefix("--") else {
            flags.insert(arg.clone(), true.into());
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Value::from(value)),
            None => match args.next_if(|next| !next.starts_with("--")) {
                Some(value) => (flag, Value::from(value.as_str())),
                None => (flag, true.into()),
            },
        };
        flags.insert(name.to_owned(), value);
    }
    flags
}

/// What two sets of flags do not share. A flag that one of the programs did not know yet counts
/// as not given.
fn unequal(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<(String, Value, Value)> {
    let given = |params: &Map<String, Value>, name: &str| match params.get(name) {
        None | Some(Value::Bool(false)) => Value::Null,
        Some(value) => value.clone(),
    };
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| (name.clone(), given(old, name), given(new, name)))
        .filter(|(_, old, new)| old != new)
        .collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(parts) => parts
            .iter()
            .map(|(name, value)| format!("{name}: {}", shown(value)))
            .collect::<Vec<_>>()
            .join("; "),
        other => other.to_string(),
    }
}
