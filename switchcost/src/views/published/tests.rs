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
    run["machine"]["architecture"] = json!("retired");
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
fn public_fields_alone_are_published() {
    let published = Published::of(records("kept").as_bytes()).unwrap();
    assert!(!published.text.contains("alice") && published.private.is_empty(), "{published:?}");
    assert_eq!(published.text.matches("kept").count(), 3);
    let left_out: Vec<&str> = published.left_out.iter().map(String::as_str).collect();
    assert_eq!(
        left_out.join(" "),
        "build.rustflags cgroup command error hostname left_behind machine.hardware machine.owner policy setting \
         sides stderr"
    );
    let again = Published::of(published.text.as_bytes()).unwrap();
    assert!(again.text == published.text && again.left_out.is_empty(), "{:?}", again.left_out);
}

#[test]
fn a_private_text_in_a_public_field_is_found() {
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
        let found = Published::of(records(text).as_bytes()).unwrap().private;
        let found: Vec<String> = found.into_keys().collect();
        assert_eq!(found, ["args", "machine.governor", "machine.mitigations"], "{text}");
    }
    for text in ["thread ÷ task", "#1 SMP @0", "a / b", "Enhanced / Automatic IBRS", "~5"] {
        assert!(is_public(text), "{text}");
    }
    assert!(!is_public(&"x".repeat(LONGEST + 1)));
}

#[test]
fn a_command_line_of_options_and_numbers_is_published() {
    for (command, is_kept) in [
        ("", true),
        ("--budget 4m --seed 12", true),
        ("run --plan mine", false),
        ("--filter=alice", false),
        ("/home/x", false),
    ] {
        assert_eq!(is_options(command), is_kept, "{command}");
    }
}
