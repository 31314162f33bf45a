//! `switchcost check` with programs that follow the contract, and with scripts that do not.

use std::path::{Path, PathBuf};

use nix::sys::signal::Signal::SIGINT;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::house::{House, executable};
use crate::support::process::{Outcome, Run};
use crate::support::{RUNNER, build, switchcost, until};

/// Number of checks.
const CHECKS: usize = 14;

/// A folder with a shell script.
fn script(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("script");
    executable(&path, &format!("#!/bin/sh\n{text}\n"));
    (folder, path)
}

/// What it printed, with each result on one line.
fn lines(run: &Outcome) -> String {
    run.stdout.replace("\n  ", " ")
}

/// One that does all by itself, and one whose tasks are processes.
#[test]
fn a_program_that_follows_the_contract_passes() {
    for (program, flags) in [("thread-brigade", "--tokens 2"), ("process-brigade", "")] {
        let run = switchcost("check").arg(build().join(program)).flags(flags).finish();
        let run = run.expect(0);
        assert!(run.stderr.is_empty(), "{run}");
        assert!(lines(&run).contains("\npassed: ends at a signal\n"), "{run}");
        assert!(lines(&run).contains(" passed, 0 failed, "), "{run}");
    }
}

/// What the limits do not allow says nothing about a program.
#[test]
fn a_check_that_the_limits_do_not_allow_is_skipped() {
    let run = Run::within(r#"ulimit -n 64; exec "$0" "$@""#, Path::new(RUNNER));
    let run = run.flags("check").arg(build().join("thread-brigade")).finish().expect(0);
    assert!(lines(&run).contains(" passed, 0 failed, 4 skipped"), "{run}");
    assert!(lines(&run).contains("needs what it says: this system allows at most"), "{run}");
}

/// Faults are told in words of the contract, and on one line.
#[test]
fn the_point_that_a_program_violates_is_named() {
    let text = House::fake_text("one-thread-brigade", "[ $what = hold ] && what=run n=1");
    let (_folder, path) = script(&text);
    let run = switchcost("check --format json").arg(&path).finish().expect(1);
    let answer: Value = serde_json::from_str(run.line()).unwrap();
    let failed = answer["failed"].as_u64().unwrap();
    assert!(run.stderr.contains(&format!("{failed} of {CHECKS} checks failed")), "{run}");
    let checks = answer["checks"].as_array().unwrap();
    let quoted = r#"it answered {"at":"ran","samples_ns":[1000]}, but 'held' was expected"#;
    let reasons: Vec<&str> = checks.iter().filter_map(|check| check["reason"].as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains(quoted)), "{run}");
    for word in ["Ran {", "Ready {", "Description {", "\\n  "] {
        assert!(!lines(&run).contains(word), "'{word}': {run}");
    }

    executable(&path, &House::fake_text("x", ":").replace("\"no-switch\"", "\"none\""));
    let run = switchcost("check").arg(&path).finish().expect(1);
    let reason = "failed: describes itself: this is not a description: unknown variant `none`";
    assert!(lines(&run).starts_with(reason), "{run}");
}

/// What a program declares is held against what is measured, and each lie is found by one check at least.
#[test]
fn a_program_that_lies_is_found_out() {
    let program = build().join("examples/faulty-brigade");
    for (lie, check, words) in [
        ("claim", "keeps its claim", "it claims user-switch, but there were"),
        ("hops", "describes itself", "hops: 40 are more than two per task and trip"),
        ("samples", "times what it does", "its samples are"),
        ("few-bytes", "needs what it says", "each needs 16 B, and holds "),
        ("many-bytes", "needs what it says", "each needs 14.31 MiB, but all 40 hold "),
        ("few-maps", "needs what it says", "memory maps, but their needs are 900"),
        ("many-maps", "needs what it says", "memory maps, but their needs are 1500"),
    ] {
        let run = switchcost("check").arg(&program).flags("--fault").arg(lie).finish().expect(1);
        let line = lines(&run)
            .lines()
            .map(str::to_owned)
            .find(|line| line.starts_with(&format!("failed: {check}: ")));
        assert!(line.is_some_and(|line| line.contains(words)), "{lie}: {run}");
    }
    let name = House::fake_text("x", ":").replace("\"program\":\"", r#""program":"\\u001b"#);
    let (_folder, path) = script(&name);
    let run = switchcost("check").arg(path).finish().expect(1);
    let start = "failed: describes itself: program: it is empty, or has control characters\n";
    assert!(lines(&run).starts_with(start), "{run}");
    // Its iteration is long beside what a shell takes.
    let hurried = House::fake_text("x", "ns=40000000 lies=yes; sleep 0.04");
    let (_folder, path) = script(&hurried.replace("\"settle\":0", "\"settle\":3"));
    let run = switchcost("check").arg(path).finish().expect(1);
    let reason = "\nfailed: settles after a wait: settle is 3, but only ";
    assert!(lines(&run).contains(reason), "{run}");
    // The reason stands before what it is about.
    let (_folder, path) = script(
        r#"echo '{"contract":1,"program":"p","version":"0","tasks":3,"claim":"x","passes":[]}'"#,
    );
    let run = switchcost("check").arg(path).finish().expect(1);
    let start = "failed: describes itself: this is not a description: unknown variant `x`";
    assert!(lines(&run).starts_with(start), "{run}");
}

/// What it waits for is named, and what there was of it; and it waits once.
#[test]
fn a_program_that_answers_nothing_is_asked_once() {
    let ready = r#"description=$("$good" --tasks 3 --describe)
echo "{\"at\":\"ready\",\"pids\":[$$],\"setup_ns\":1,\"first_ns\":1,${description#?}""#;
    for (text, awaited, printed) in [
        (r#"printf '{"at":"ready"'"#, "its first line", r#": {"at":"ready""#),
        (ready, "the answer to `run 1`", ": timed out"),
    ] {
        let describe = "case $* in *--describe*) exec \"$good\" \"$@\" ;; esac";
        let good = build().join("one-thread-brigade");
        let (_folder, path) =
            script(&format!("good='{}'\n{describe}\n{text}\nexec sleep 1000", good.display()));
        let run = switchcost("check --timeout 1s").arg(&path).finish().expect(1);
        let late = format!("{awaited} did not come within 1s (--timeout)");
        for part in [&late, printed, "(is each line flushed?)\n", ": it does not answer\n"] {
            assert!(lines(&run).contains(part), "'{part}' is missing: {run}");
        }
        let tally = format!("\n1 passed, 1 failed, {} skipped\n", CHECKS - 2);
        assert!(lines(&run).ends_with(&tally), "{run}");
    }
}

#[test]
fn an_interrupt_ends_the_verb_and_the_program() {
    let (_folder, path) = script("sleep 1000\ntrue");
    for (verb, words) in [
        ("check", "interrupted after 0 checks"),
        ("stat", "interrupted before the measurement began"),
        ("limits", "interrupted before all programs were asked"),
    ] {
        let running = switchcost(verb).arg(&path).start();
        until("the program runs", || running.has("sleep"));
        running.signal(SIGINT);
        let run = running.finish().expect_refusal(130, &[words]);
        assert_eq!(run.stderr.lines().count(), 1, "{run}");
    }
}
