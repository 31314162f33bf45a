//! Any command as a row: `stat`, `sweep` and `duel` after `--`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::process::{Outcome, Run};
use crate::support::{RUNNER, build, switchcost, until};

/// A folder with the runner's command lines in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        build();
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A script that may be executed.
    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        fs::write(self.path(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A duel of two command lines, as a shell would split them.
    fn duel(&self, flags: &str, commands: &[&str]) -> Run {
        let run = switchcost("duel --pairs 8 --out out.jsonl").flags(flags).folder(self.0.path());
        commands.iter().fold(run.arg("--"), |run, word| run.arg(word))
    }

    /// The trials of the duel.
    fn trials(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("out.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["kind"] == "trial").collect()
    }
}

/// Ends with a verdict, or without one: that depends on the machine.
fn judged(run: Run) -> Outcome {
    let outcome = run.finish();
    assert!([0, 3].contains(&outcome.code), "{outcome}");
    outcome
}

fn assert_says(outcome: &Outcome, words: &[&str]) {
    let text = format!("{} {}", outcome.stdout, outcome.stderr);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in words {
        assert!(text.contains(words), "{words}: {outcome}");
    }
}

#[test]
fn both_commands_are_named_their_output_compared_and_each_run_is_kept() {
    let folder = Folder::new();
    let outcome = judged(folder.duel("", &["echo", "a  b", ":::", "printf", "c\n"]));
    assert_says(
        &outcome,
        &["A: echo 'a b'", "DIFFERENT OUTPUT: A puts out 5 bytes, CRC-32", "and B 2 bytes"],
    );
    assert!(outcome.stderr.contains("DIFFERENT OUTPUT"), "at once: {outcome}");
    let trials = folder.trials();
    let runs = trials.iter().filter(|trial| trial["row"] == 0);
    assert_eq!(runs.count(), 8, "{trials:?}");
    for trial in &trials {
        assert_eq!(trial["samples"]["count"], 1);
        assert!(trial["usage"]["peak_bytes"].as_u64() > Some(0), "{trial}");
    }
    let outcome = judged(folder.duel("", &["echo", "1", ":::", "echo", "1"]));
    assert_says(
        &outcome,
        &["Both put out the same in all runs (2 bytes", "only the machine can differ"],
    );
    let outcome = judged(folder.duel("--shell", &["echo $$", ":::", "echo", "1"]));
    assert_says(&outcome, &["What A puts out differs from run to run", "A: echo $$"]);
}

#[test]
fn runs_of_a_pair_have_environments_of_one_random_length() {
    let folder = Folder::new();
    let length = "echo ${#SWITCHCOST_PADDING}";
    judged(folder.duel("--shell", &[length, ":::", length]));
    let mut lengths: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for trial in folder.trials() {
        let output = trial["output"].as_str().unwrap().to_owned();
        lengths.entry(trial["round"].as_u64().unwrap()).or_default().push(output);
    }
    assert!(
        lengths.values().all(|pair| pair.windows(2).all(|two| two[0] == two[1])),
        "{lengths:?}"
    );
    let first = lengths.values().map(|pair| &pair[0]);
    assert!(first.collect::<std::collections::BTreeSet<_>>().len() > 1, "{lengths:?}");
}

#[test]
fn a_run_that_fails_ends_the_duel_with_its_last_words() {
    let folder = Folder::new();
    let fails = "echo one >&2; echo two >&2; exit 3";
    let outcome = folder.duel("", &["true", ":::", "sh", "-c", fails]).finish().expect(125);
    assert_says(
        &outcome,
        &["B, round 1:", "ended with exit status: 3 (--exit 3 lets that pass): one; two"],
    );
    judged(folder.duel("--exit 0,3", &["true", ":::", "sh", "-c", fails]));
    // A later run may fail as well.
    folder.script("later", "echo x >> runs; test $(wc -l < runs) -lt 9");
    let outcome = folder.duel("", &["true", ":::", "./later"]).finish().expect(125);
    assert_says(&outcome, &["B, round", "ended with exit status: 1"]);
    let outcome = folder.duel("", &["true", ":::", "sh", "-c", "kill -9 $$"]).finish().expect(125);
    assert_says(&outcome, &["ended with signal: 9 (SIGKILL): it said nothing on standard error"]);
    let hangs = ["true", ":::", "sleep", "1000"];
    let outcome = folder.duel("--timeout 1s", &hangs).finish().expect(125);
    assert_says(&outcome, &["B, round 1:", "did not come within 1s (--timeout)"]);
}

#[test]
fn what_a_command_leaves_running_is_named_and_ended() {
    let folder = Folder::new();
    let daemon = "setsid sleep 1000 > /dev/null & echo started";
    let outcome = judged(folder.duel("", &["sh", "-c", daemon, ":::", "echo", "started"]));
    assert_says(&outcome, &["left processes running", "sleep"]);
}

#[test]
fn a_file_that_changes_is_told_and_shells_need_none() {
    let folder = Folder::new();
    folder.script("changes", "echo : >> \"$0\"");
    let outcome = folder.duel("", &["./changes", ":::", "./changes"]).finish().expect(125);
    assert_says(&outcome, &["./changes is another file now than when the duel began"]);
    let outcome = folder.duel("", &["true", ":::", "./none"]).finish().expect(125);
    assert_says(&outcome, &["'./none' is no command that you may execute"]);
}

#[test]
fn input_output_and_what_is_untimed_are_as_the_flags_say() {
    let folder = Folder::new();
    fs::write(folder.path("in"), "12345").unwrap();
    let flags = "--input in --prepare";
    let run = switchcost("duel --pairs 8 --out out.jsonl").flags(flags).folder(folder.0.path());
    let run = run.arg("echo >> before").arg("--conclude").arg("echo >> after");
    let outcome = judged(run.flags("-- cat ::: cat -"));
    assert_says(
        &outcome,
        &["Both put out the same in all runs (5 bytes", "their arguments differ"],
    );
    let lines = |name: &str| fs::read_to_string(folder.path(name)).unwrap().lines().count();
    assert_eq!(lines("before"), lines("after"));
    assert!(lines("before") >= 2 * folder.trials().len());
    judged(folder.duel("--output written", &["echo", "x", ":::", "echo", "y"]));
    assert_eq!(fs::read_to_string(folder.path("written")).unwrap().len(), 2);
    let much = "head -c 30000000 /dev/zero";
    let outcome = judged(folder.duel("--shell", &[much, ":::", much]));
    assert_says(&outcome, &["30000000 bytes"]);
    // "100" and a newline: the limit is the user's.
    let run = Run::within("ulimit -Sn 100; exec \"$0\" \"$@\"", Path::new(RUNNER));
    let run = run.flags("duel --pairs 8 --out limits.jsonl --shell --").folder(folder.0.path());
    let outcome = judged(run.arg("ulimit -Sn").arg(":::").arg("ulimit -Sn"));
    assert_says(&outcome, &["Both put out the same in all runs (4 bytes"]);
    let outcome = folder.duel("--input none", &["cat", ":::", "cat"]).finish().expect(125);
    assert_says(&outcome, &["--input none", "No such file"]);
}

#[test]
fn a_command_is_observed_and_swept() {
    let folder = Folder::new();
    let stat = |flags: &str| switchcost("stat").flags(flags).folder(folder.0.path()).finish();
    let outcome = stat("--iters 3 -- sleep 0.01").expect(0);
    assert_says(&outcome, &["sleep 0.01: 3 runs", "per run", "peak memory"]);
    stat("-- false").expect(1);
    assert_says(&stat("--shell true").expect(2), &["a command goes after `--`"]);
    assert_says(&stat("-- a ::: b").expect(2), &["name one command"]);
    let sweep = "sweep --over n=1..2 --points 2 --rounds 1 --placement pinned --out out.jsonl --";
    let sweep = |words: &str| switchcost(sweep).flags(words).folder(folder.0.path()).finish();
    assert_says(&sweep("head -c {n} /dev/zero").expect(0), &["Time per run over --n"]);
    let outputs = folder.trials().into_iter().map(|trial| trial["output"].to_string());
    let outputs: Vec<String> = outputs.collect();
    assert!(outputs.iter().any(|output| output.starts_with("\"1 bytes")), "{outputs:?}");
    assert!(outputs.iter().any(|output| output.starts_with("\"2 bytes")), "{outputs:?}");
    assert_says(&sweep("true").expect(2), &["write {n} in the command"]);
}

#[test]
fn further_pairs_are_rows_and_an_output_that_differs_may_fail_a_duel() {
    let folder = Folder::new();
    let words = ["true", ":::", "true", ":::", "echo", "1", ":::", "echo", "2"];
    let flags = "--fail-above 1000% --fail-on output";
    let outcome = folder.duel(flags, &words).finish().expect(1);
    assert_says(&outcome, &["pair 1", "pair 2", "A: true; echo 1", "the output of B differs"]);
    assert_says(&outcome, &["Both put out the same in all runs (0 bytes", "DIFFERENT OUTPUT"]);
}

#[test]
fn bad_command_lines_are_refused() {
    let folder = Folder::new();
    for (words, why) in [
        (&["true"][..], "a duel has two commands, or pairs of them, and not 1"),
        (&["a", ":::", "b", ":::", "c"], "a duel has two commands, or pairs of them, and not 3"),
    ] {
        folder.duel("", words).finish().expect_refusal(2, &[why]);
    }
    for flags in ["--prepare true", ". -- true ::: true", "--plan why -- true ::: true"] {
        switchcost("duel").flags(flags).finish().expect(2);
    }
}

#[test]
fn an_interrupt_ends_the_command_and_keeps_what_was_measured() {
    let folder = Folder::new();
    let run = switchcost("duel --budget 50s --out out.jsonl -- true ::: sleep 0.3");
    let running = run.folder(folder.0.path()).start();
    until("three rounds are written", || {
        fs::read_to_string(folder.path("out.jsonl")).is_ok_and(|text| text.lines().count() > 8)
    });
    running.signal(Signal::SIGINT);
    let outcome = running.finish();
    assert_eq!(outcome.code, 130, "{outcome}");
    assert!(folder.trials().len() > 4);
}
