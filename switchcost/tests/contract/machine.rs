//! What a record tells of the machine: facts, or nothing.

use serde_json::Value;

use crate::support::benchmarks::all;

/// Facts for which 0 is an answer: no swap, nothing waiting, a kernel's setting, the first node
/// of a list.
const MAY_BE_ZERO: [&str; 9] = [
    "swap_total_bytes",
    "load_average",
    "cpu",
    "memory",
    "io",
    "perf_event_paranoid",
    "io_uring_disabled",
    "soft",
    "hard",
];

#[test]
fn what_is_unknown_is_null_and_never_zero_or_empty() {
    for benchmark in all() {
        let run = benchmark.tiny("--format json").finish();
        let record: Value = serde_json::from_str(run.expect_quiet_success().line()).unwrap();
        for part in ["machine", "build"] {
            let mut invented = Vec::new();
            find(part, &record[part], &mut invented);
            assert!(invented.is_empty(), "{}: {invented:?}", benchmark.name);
        }
    }
}

/// Collects the names of values that are 0 or empty.
fn find(name: &str, value: &Value, invented: &mut Vec<String>) {
    match value {
        Value::Number(n) if n.as_f64() == Some(0.0) && !MAY_BE_ZERO.contains(&name) => {
            invented.push(name.to_owned());
        }
        Value::String(text) if text.trim() != text || text.is_empty() => {
            invented.push(name.to_owned());
        }
        Value::Array(items) => items.iter().for_each(|item| find(name, item, invented)),
        Value::Object(fields) => {
            for (name, field) in fields {
                find(name, field, invented);
            }
        }
        _ => {}
    }
}

#[test]
fn nothing_tells_whose_machine_it_is() {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    for benchmark in all().iter().filter(|_| host.len() > 3) {
        let run = benchmark.tiny("--format json").finish().expect(0);
        let record: Value = serde_json::from_str(run.line()).unwrap();
        let machine = record["machine"].to_string();
        assert!(!machine.contains(host), "the host's name: {machine}");
    }
}
