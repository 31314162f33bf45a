use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::process::Run;
use crate::support::switchcost;

/// A published answer, which holds nothing private, and one with a doubt.
const PUBLISHED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../results/xeon6-2vcpu-6.18/answer.jsonl");
const DOUBTFUL: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../results/xeon-2vcpu-6.18/answer.jsonl");

fn share(folder: &Path, flags: &str) -> Run {
    switchcost("share").flags(flags).folder(folder)
}

/// The published answer with another line: the header, or a process.
fn changed(place: usize, change: impl Fn(&mut Value)) -> String {
    let text = fs::read_to_string(PUBLISHED).unwrap();
    let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    let mut value = serde_json::from_str(&lines[place]).unwrap();
    change(&mut value);
    lines[place] = format!("{value}\n");
    lines.concat()
}

#[test]
fn an_answer_is_cleaned_and_then_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let share = |flags: &str| share(folder.path(), flags);
    let private = changed(0, |header| {
        header["command"] = "--plan /home/alice/mine.toml".into();
        header["machine"]["hardware"] = "Alice's desk".into();
        header["hostname"] = "alice".into();
    });
    // The reason of a case that was not tried is free text.
    let (_, last) = private.trim_end().rsplit_once('\n').unwrap();
    let mut untried: Value = serde_json::from_str(last).unwrap();
    untried["not_run"] = "no room in /home/alice".into();
    for field in ["slices", "samples", "usage", "account", "interference", "memory"] {
        untried.as_object_mut().unwrap().remove(field);
    }
    // The file is found by its name and its age.
    fs::write(path("switchcost-x.jsonl"), format!("{private}{untried}\n")).unwrap();
    let fields = ["command", "not_run", "machine.hardware", "hostname"];
    let words = fields.map(|field| format!("{field} is private"));
    let run = share("--check switchcost-x.jsonl").finish().expect(1);
    run.expect_complaint(&words.each_ref().map(String::as_str));

    let run = share("desk-2cpu").finish().expect_quiet_success();
    for words in [
        "These fields were left out as private: command, hostname, machine.hardware, not_run.",
        "Nothing was sent",
        "pull request",
    ] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    let text = fs::read_to_string(path("results/desk-2cpu/answer.jsonl")).unwrap();
    assert!(!text.to_lowercase().contains("alice"));
    let run = share("--check results/desk-2cpu/answer.jsonl").finish().expect_quiet_success();
    assert_eq!(run.stdout, "");

    // What holds nothing private is shared whole, and stays as it is from then on.
    let run = share("same").arg(PUBLISHED).finish().expect_quiet_success();
    assert!(run.stdout.contains("Nothing in the records is private."), "{run}");
    let once = fs::read(path("results/same/answer.jsonl")).unwrap();
    // No answer is replaced.
    share("same switchcost-x.jsonl").finish().expect_refusal(2, &["exists"]);
    share("again results/same/answer.jsonl").finish().expect(0);
    assert!(fs::read(path("results/again/answer.jsonl")).unwrap() == once);
}

#[test]
fn what_cannot_be_shared_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (records, reason) in [
        (String::new(), "no answer"),
        ("nonsense\n".to_owned(), "line 1: "),
        (changed(1, |process| process["setting"] = "TOKEN=1".into()), "under a setting"),
        (changed(1, |process| process["error"] = "it failed".into()), "failed"),
        (changed(1, |process| process["args"] = vec!["/home/alice/x"].into()), "args holds"),
        (changed(0, |run| run["build"]["profile"] = "debug".into()), "without optimisation"),
        (changed(0, |run| run["machine"]["governor"] = "/x".into()), "machine.governor holds"),
    ] {
        fs::write(folder.path().join("a.jsonl"), records).unwrap();
        for (flags, code) in [("x a.jsonl", 2), ("--check a.jsonl", 1)] {
            share(folder.path(), flags).finish().expect_refusal(code, &[reason]);
        }
    }
    assert!(!folder.path().join("results").exists());
}

#[test]
fn a_doubt_is_shared_on_request_alone() {
    let folder = tempfile::tempdir().unwrap();
    let share = |flags: &str| share(folder.path(), flags).arg(DOUBTFUL).finish();
    share("x").expect_refusal(2, &["The machine changed", "--allow-doubts"]);
    share("--check").expect_refusal(1, &["The machine changed"]);
    for flags in ["--allow-doubts --check", "--allow-doubts x"] {
        share(flags).expect_quiet_success();
    }
}
