//! What passes from a record into a published one.

use serde_json::json;

use super::*;
use crate::testing;

/// Words that the format fixes.
const FIXED: &[&str] =
    &["kind", "claim", "metric", "link", "cpu_quota", "memory_limit", "soft", "hard"];

/// A header and a process with a text in every field that may have one, and fields of no known version.
fn poisoned(poison: &str) -> String {
    let record = testing::record("p", 1, &[10_000; 9]);
    let mut run = serde_json::to_value(&*record.header).unwrap();
    let mut process = serde_json::to_value(&record.process).unwrap();
    for (name, value) in [
        ("sides", json!(["", ""])),
        ("hostname", json!("")),
        (
            "plan",
            json!({
                "sections": [{"title": "", "metric": "hop", "also": [{"name": "", "metric": "hop"}], "swept": "", "by": ""}],
                "cases": [{"section": "", "row": "", "column": "", "baseline": "", "versus": "", "answer": "",
                    "over": "", "link": "pipe", "file": ""}],
            }),
        ),
    ] {
        run[name] = value;
    }
    run["machine"]["caches"] = json!([{"level": 1, "type": "", "shared_cpu_list": "", "of": ""}]);
    run["machine"]["mitigations"] = json!({"meltdown": ""});
    run["machine"]["owner"] = json!({"name": ""});
    for holder in ["machine", "build"] {
        let fields = run[holder].as_object_mut().unwrap();
        fields.values_mut().filter(|value| value.is_null()).for_each(|value| *value = json!(""));
    }
    // Numbers that are unknown here.
    for name in [
        "numa_nodes",
        "base_frequency_khz",
        "max_frequency_khz",
        "clock_step_ns",
        "clock_read_ns",
        "timer_slack_ns",
        "memory_total_bytes",
        "swap_total_bytes",
        "load_average",
        "perf_event_paranoid",
        "io_uring_disabled",
        "smt_active",
        "boost",
        "sched_autogroup",
        "seccomp",
        "cpu_quota",
        "memory_limit",
    ] {
        run["machine"][name] = Value::Null;
    }
    run["build"]["dirty"] = Value::Null;
    for (name, value) in [
        ("args", json!(["", ""])),
        ("runtime", json!({"name": "", "version": "", "flavor": "", "workers": 1, "at": ""})),
        ("counters", json!({"absent": [{"events": [""], "reason": "", "remedy": ""}]})),
    ] {
        process[name] = value;
    }
    for name in ["version", "cpus", "setting", "left_behind", "stderr", "policy", "cgroup", "error"]
    {
        process[name] = json!("");
    }
    fill(&mut run, poison);
    fill(&mut process, poison);
    format!("{run}\n{process}\n")
}

fn fill(value: &mut Value, poison: &str) {
    match value {
        Value::Object(fields) => {
            let free = fields.iter_mut().filter(|(name, _)| !FIXED.contains(&name.as_str()));
            free.for_each(|(_, value)| fill(value, poison));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, poison)),
        Value::String(text) => *text = poison.to_owned(),
        _ => {}
    }
}

/// Places of a text in a value.
fn places(value: &Value, poison: &str, place: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if place.is_empty() { "" } else { "." };
                places(value, poison, &format!("{place}{dot}{name}"), found);
            }
        }
        Value::Array(values) => {
            values.iter().for_each(|value| places(value, poison, place, found));
        }
        Value::String(text) if text == poison => {
            found.insert(place.to_owned());
        }
        _ => {}
    }
}

const PUBLIC: &str = "\
    args build.git_revision build.package_version build.profile build.rustc build.target build.tokio cpus \
    machine.affinity machine.architecture machine.caches.shared_cpu_list machine.caches.type \
    machine.clock_source machine.cpu_model machine.cpus_online machine.distribution \
    machine.frequency_driver machine.governor machine.idle_driver machine.kernel_release \
    machine.kernel_version machine.mitigations.meltdown machine.preemption machine.preemption_boot \
    machine.preemption_mode machine.thp_defrag machine.thp_enabled machine.virtualisation \
    plan.cases.answer plan.cases.baseline plan.cases.column plan.cases.over plan.cases.row \
    plan.cases.section plan.cases.versus plan.sections.also.name plan.sections.swept plan.sections.title program \
    runtime.flavor runtime.name runtime.version version";

#[test]
fn texts_of_listed_fields_alone_are_published() {
    let shared = Shared::of(poisoned("poison").as_bytes()).unwrap();
    let mut found = BTreeSet::new();
    for line in shared.text.lines() {
        places(&serde_json::from_str(line).unwrap(), "poison", "", &mut found);
    }
    let expected: Vec<&str> = PUBLIC.split_whitespace().collect();
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    for field in [
        "command",
        "hostname",
        "sides",
        "machine.hardware",
        "machine.owner",
        "setting",
        "error",
        "stderr",
        "left_behind",
        "policy",
        "counters",
        "cgroup",
        "plan.cases.file",
    ] {
        assert!(shared.left_out.contains(field), "{field}");
    }
    assert!(shared.private.is_empty(), "{:?}", shared.private);
}

#[test]
fn a_private_text_in_a_listed_field_is_found() {
    for text in [
        "/home/alice",
        "see '/srv/x'",
        "~/x",
        "alice@host",
        "TOKEN=1",
        "ssh://host",
        "$HOME",
        "a\u{1b}b",
    ] {
        let shared = Shared::of(poisoned(text).as_bytes()).unwrap();
        let found: Vec<String> = shared.private.into_keys().collect();
        let expected = PUBLIC.replace("mitigations.meltdown", "mitigations.*");
        assert_eq!(found.join(" "), expected, "{text}");
    }
    for text in [
        "thread ÷ task",
        "#1 SMP @0",
        "Debian GNU/Linux 12",
        "a / b",
        "Enhanced / Automatic IBRS",
        "~5",
    ] {
        assert!(is_public(text), "{text}");
    }
    assert!(!is_public(&"x".repeat(LONGEST + 1)));
}

#[test]
fn a_command_line_of_options_and_numbers_is_published() {
    for (command, is_kept) in [
        ("", true),
        ("--budget 4m --seed 12", true),
        ("--quick", true),
        ("run --plan mine", false),
        ("--filter=alice", false),
        ("/home/x", false),
    ] {
        assert_eq!(is_options(command), is_kept, "{command}");
    }
}
