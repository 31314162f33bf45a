//! The machine and the build: every fact of the records, known to this version or not.

use std::collections::BTreeSet;

use contract::units::bytes;
use maud::{Markup, html};
use record::Record;
use serde::Serialize;
use serde_json::Value;

/// Lists of the machine's and the build's facts.
pub(super) fn markup(first: &Record, records: &[Record]) -> Markup {
    let mut build = facts(first.build());
    build.extend(runtimes(records).into_iter().map(|runtime| ("runtime".to_owned(), runtime)));
    html! {
        @for (title, facts) in [("Machine", facts(first.machine())), ("Build", build)] {
            h3 { (title) }
            dl { @for (name, value) in facts { dt { (name) } dd { (value) } } }
        }
    }
}

/// Known facts, as names with values; a value shows the unit that ends its name in a record.
fn facts(of: &impl Serialize) -> Vec<(String, String)> {
    let Ok(Value::Object(all)) = serde_json::to_value(of) else {
        return Vec::new();
    };
    let name = |key: &str| {
        let bare = ["_bytes", "_khz", "_ns"].iter().find_map(|unit| key.strip_suffix(unit));
        bare.unwrap_or(key).replace('_', " ")
    };
    all.iter().filter_map(|(key, value)| Some((name(key), text(key, value)?))).collect()
}

/// The runtimes of all records.
fn runtimes(records: &[Record]) -> BTreeSet<String> {
    let runtimes = records.iter().filter_map(|record| record.runtime.as_ref());
    runtimes
        .map(|r| {
            let version = r.version.as_deref().unwrap_or("of unknown version");
            let plural = if r.workers == 1 { "" } else { "s" };
            format!("{} {version}, {}, {} worker{plural}", r.name, r.flavor, r.workers)
        })
        .collect()
}

/// A value for people; `None` where there is nothing to say.
fn text(key: &str, value: &Value) -> Option<String> {
    let number = value.as_f64();
    Some(match (key, number) {
        ("caches", _) => caches(value)?,
        ("rlimits", _) => limits(value)?,
        (_, Some(size)) if key.ends_with("_bytes") => bytes(size),
        (_, Some(khz)) if key.ends_with("_khz") => format!("{:.2} GHz", khz / 1e6),
        (_, Some(_)) if key.ends_with("_ns") => format!("{value} ns"),
        _ => plain(value)?,
    })
}

fn plain(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) => joined(values.iter().filter_map(plain))?,
        Value::Object(fields) => joined(fields.iter().filter_map(|(key, value)| {
            let value = plain(value)?;
            Some(format!("{} {value}", key.replace('_', " ")))
        }))?,
    })
}

fn joined(texts: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn caches(value: &Value) -> Option<String> {
    joined(value.as_array()?.iter().filter_map(|cache| {
        let level = cache.get("level")?.as_u64()?;
        let kind = match cache.get("type").and_then(Value::as_str) {
            Some("Data") => "d",
            Some("Instruction") => "i",
            _ => "",
        };
        let size = bytes(cache.get("size_bytes")?.as_f64()?);
        let (number, unit) = size.split_once(' ')?;
        let number = match number.contains('.') {
            true => number.trim_end_matches('0').trim_end_matches('.'),
            false => number,
        };
        Some(format!("L{level}{kind} {number} {unit}"))
    }))
}

fn limits(value: &Value) -> Option<String> {
    joined(value.as_object()?.iter().filter_map(|(name, limit)| {
        let soft = plain(limit.get("soft")?)?;
        let hard = plain(limit.get("hard")?)?;
        Some(format!("{} {soft}/{hard}", name.replace('_', " ")))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn facts_have_names_and_units() {
        let machine = json!({
            "brand_new": {"a_b": 1, "c": null},
            "cpu_model": "Example CPU",
            "boost": false,
            "governor": null,
            "memory_total_bytes": 1 << 30,
            "max_frequency_khz": 3_500_000,
            "clock_step_ns": 1,
            "topology": {"sockets": 1, "cores": 4, "threads_per_core": null},
            "caches": [{"level": 1, "type": "Data", "size_bytes": 49_152}],
            "rlimits": {"nofile": {"soft": 1024, "hard": "unlimited"}, "stack": null},
            "mitigations": {"l1tf": "Not affected"},
        });
        let facts = facts(&machine);
        let facts: Vec<(&str, &str)> = facts.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        assert_eq!(
            facts,
            [
                ("boost", "no"),
                ("brand new", "a b 1"),
                ("caches", "L1d 48 KiB"),
                ("clock step", "1 ns"),
                ("cpu model", "Example CPU"),
                ("max frequency", "3.50 GHz"),
                ("memory total", "1.000 GiB"),
                ("mitigations", "l1tf Not affected"),
                ("rlimits", "nofile 1024/unlimited"),
                ("topology", "cores 4, sockets 1"),
            ]
        );
    }
}
