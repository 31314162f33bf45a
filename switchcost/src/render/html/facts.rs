//! The machine and the build: every fact of the records, including those that this version has no name for.

use std::collections::BTreeSet;

use contract::units::bytes;
use maud::{Markup, html};
use record::Record;
use serde::Serialize;
use serde_json::Value;

/// Facts in the order in which people ask for them, with the names that people use. Those that
/// are not listed follow under their own names.
const NAMES: &[(&str, &str)] = &[
    ("cpu_model", "CPU"),
    ("architecture", "Architecture"),
    ("topology", "Topology"),
    ("cpus_online", "CPUs online"),
    ("affinity", "CPUs allowed"),
    ("smt_active", "SMT in use"),
    ("numa_nodes", "NUMA nodes"),
    ("caches", "Caches of CPU 0"),
    ("base_frequency_khz", "Base frequency"),
    ("max_frequency_khz", "Highest frequency"),
    ("frequency_driver", "Frequency driver"),
    ("governor", "Governor"),
    ("boost", "Boost"),
    ("idle_driver", "Idle driver"),
    ("virtualisation", "Hypervisor"),
    ("hardware", "Hardware"),
    ("kernel_release", "Kernel"),
    ("kernel_version", "Kernel version"),
    ("preemption", "Preemption"),
    ("preemption_mode", "Preemption in force"),
    ("preemption_boot", "Preemption at boot"),
    ("distribution", "Distribution"),
    ("clock_source", "Clock source"),
    ("clock_step_ns", "Step of the clock"),
    ("clock_read_ns", "Reading the clock"),
    ("thp_enabled", "Transparent huge pages"),
    ("thp_defrag", "Huge page defrag"),
    ("sched_autogroup", "Autogroup"),
    ("timer_slack_ns", "Timer slack"),
    ("seccomp", "Seccomp filter"),
    ("cpu_quota", "CPU quota"),
    ("memory_total_bytes", "Memory"),
    ("swap_total_bytes", "Swap"),
    ("load_average", "Load at start"),
    ("pressure", "Pressure at start, %"),
    ("rlimits", "Resource limits, soft/hard"),
    ("perf_event_paranoid", "perf_event_paranoid"),
    ("io_uring_disabled", "io_uring_disabled"),
    ("rustc", "Compiler"),
    ("tokio", "Tokio"),
    ("target", "Target"),
    ("profile", "Profile"),
    ("package_version", "switchcost"),
    ("git_revision", "Revision"),
    ("dirty", "Changed since its revision"),
];

/// Lists of the machine's and the build's facts.
pub(super) fn markup(first: &Record, records: &[Record]) -> Markup {
    let machine = first.machine();
    let mut build = facts(first.build());
    build.extend(runtimes(records).into_iter().map(|runtime| ("Runtime".to_owned(), runtime)));
    // Those that matter first.
    let mut mitigations: Vec<(String, String)> =
        machine.mitigations.iter().map(|(name, state)| (name.clone(), state.clone())).collect();
    mitigations.sort_by_key(|(_, state)| state == "Not affected");
    let parts = [
        ("Machine", facts(machine)),
        ("Build", build),
        ("Mitigations of the CPU's weaknesses", mitigations),
    ];
    html! {
        @for (title, facts) in parts.iter().filter(|(_, facts)| !facts.is_empty()) {
            h3 { (title) }
            dl { @for (name, value) in facts { dt { (name) } dd { (value) } } }
        }
    }
}

/// Known facts, as names with values.
fn facts(of: &impl Serialize) -> Vec<(String, String)> {
    let Ok(Value::Object(mut all)) = serde_json::to_value(of) else {
        return Vec::new();
    };
    // They have a list of their own.
    all.remove("mitigations");
    let mut facts = Vec::new();
    for (key, name) in NAMES {
        facts.extend(all.remove(*key).and_then(|v| Some(((*name).to_owned(), text(key, &v)?))));
    }
    let others = all.iter().filter_map(|(key, v)| Some((key.replace('_', " "), text(key, v)?)));
    facts.extend(others);
    facts
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
        ("topology", _) => topology(value)?,
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

fn topology(value: &Value) -> Option<String> {
    let kinds = [
        ("sockets", "socket", ""),
        ("cores", "core", ""),
        ("threads_per_core", "thread", " per core"),
    ];
    joined(kinds.into_iter().filter_map(|(key, noun, rest)| {
        let count = value.get(key)?.as_u64()?;
        let plural = if count == 1 { "" } else { "s" };
        Some(format!("{count} {noun}{plural}{rest}"))
    }))
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
    fn known_facts_are_named_and_unknown_ones_follow() {
        let machine = json!({
            "brand_new": {"a_b": 1, "c": null},
            "cpu_model": "Example CPU",
            "boost": false,
            "governor": null,
            "memory_total_bytes": 1 << 30,
            "max_frequency_khz": 3_500_000,
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
                ("CPU", "Example CPU"),
                ("Topology", "1 socket, 4 cores"),
                ("Caches of CPU 0", "L1d 48 KiB"),
                ("Highest frequency", "3.50 GHz"),
                ("Boost", "no"),
                ("Memory", "1.000 GiB"),
                ("Resource limits, soft/hard", "nofile 1024/unlimited"),
                ("brand new", "a b 1"),
            ]
        );
    }
}
