//! What passes from a record into a published one.

use serde_json::json;

use super::*;
use crate::testing;

/// A header and a process with a text in fields that are private, of no known version, or kept.
fn records(kept: &str) -> String {
    let record = testing::record("p", 1, &[10_000; 9]);
    let mut run = serde_json::to_value(&*record.header).unwrap();
    let mut process = serde_json::to_value(&record.process).unwrap();
    for name in ["hostname", "command"] {
        run[name] = json!("--out alice");
    }
    run["sides"] = json!(["alice", "alice"]);
    run["machine"]["hardware"] = json!("alice");
    run["machine"]["owner"] = json!({"name": "alice"});
    run["build"]["rustflags"] = json!("alice");
    run["machine"]["mitigations"] = json!({kept: "Not affected"});
    run["machine"]["governor"] = json!(kept);
    process["args"] = json!(["--tasks", kept]);
    for name in ["setting", "stderr", "policy", "left_behind", "error", "cgroup"] {
        process[name] = json!("alice");
    }
    format!("{run}\n{process}\n")
}

#[test]
fn public_fields_alone_are_published_and_a_private_text_in_them_is_found() {
    let published = Published::of(records("kept").as_bytes()).unwrap();
    assert!(!published.text.contains("alice") && published.private.is_empty(), "{published:?}");
    assert_eq!(published.text.matches("kept").count(), 3);
    let found: Vec<String> =
        Published::of(records("/home/alice").as_bytes()).unwrap().private.into_keys().collect();
    assert_eq!(found, ["args", "machine.governor", "machine.mitigations"]);
}

#[test]
fn texts_and_command_lines_are_public_or_not() {
    for text in ["thread ÷ task", "#1 SMP @0", "a / b", "Enhanced / Automatic IBRS", "~5"] {
        assert!(is_public(text), "{text}");
    }
    for text in ["see '/srv/x'", "~/x", "alice@host", "TOKEN=1", "ssh://host", "$HOME", "a\u{1b}b"]
    {
        assert!(!is_public(text), "{text}");
    }
    assert!(!is_public(&"x".repeat(LONGEST + 1)));
    for command in ["", "--budget 4m --seed 12"] {
        assert!(is_options(command), "{command}");
    }
    for command in ["run --plan mine", "--filter=alice", "/home/x"] {
        assert!(!is_options(command), "{command}");
    }
}
