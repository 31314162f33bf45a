//! `switchcost run` with what cannot be run, and what fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nix::unistd::Uid;

use super::{Files, PLAN, switchcost};
use crate::support::skip;

#[test]
fn a_faulty_plan_is_bad_usage() {
    for (plan, words) in [
        ("rounds =", "line 1"),
        ("rounds = 2", "section"),
        (&PLAN.replace("\"hop\"", "\"speed\""), "speed"),
        (&PLAN.replace("iters = 4", "laps = 4"), "laps"),
        (
            &PLAN.replace("baseline = \"without\"", "baseline = \"nothing\""),
            "nothing",
        ),
    ] {
        let files = Files::of(plan);
        files
            .run()
            .finish()
            .expect_refusal(2, &["--plan", "plan.toml", words]);
        assert!(!files.out().exists(), "nothing to keep, no file");
        let run = switchcost("list --plan").arg(files.plan()).finish();
        run.expect_refusal(2, &["--plan", words]);
    }
    let run = switchcost("run --plan /nonexistent.toml").finish();
    run.expect_refusal(2, &["--plan", "/nonexistent.toml"]);
}

#[test]
fn unknown_verbs_and_flags_are_bad_usage() {
    for (flags, word) in [
        ("frobnicate", "frobnicate"),
        ("run --nonsense", "--nonsense"),
        ("run --rounds 0", "--rounds"),
        ("run --seed -1", "-1"),
        ("report", "FILE"),
        ("fit --x 0", "--x"),
    ] {
        switchcost(flags).finish().expect_refusal(2, &[word]);
    }
}

/// A plan that would not end, so that a test which measures it fails.
fn endless() -> Files {
    Files::of(&PLAN.replace("iters = 4", "iters = 4000000000"))
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_measured() {
    let files = endless();
    let missing = files.folder.path().join("missing").join("out.jsonl");
    let run = files.run_into("--out", &missing).finish();
    run.expect_refusal(1, &["--out", "missing"]);
    let run = files.run_into("--out", files.folder.path()).finish();
    run.expect_refusal(1, &["--out"]);
}

#[test]
fn a_file_that_may_not_be_written_is_told_before_anything_is_measured() {
    if Uid::effective().is_root() {
        return skip("root may write everywhere");
    }
    let files = endless();
    let read_only = fs::Permissions::from_mode(0o500);
    fs::set_permissions(files.folder.path(), read_only).unwrap();
    files
        .run()
        .finish()
        .expect_refusal(1, &["--out", "Permission denied"]);
}

#[test]
fn a_disk_that_is_full_is_told() {
    let files = Files::of(PLAN);
    let run = files.run_into("--out", "/dev/full".as_ref()).finish();
    run.expect_refusal(1, &["/dev/full", "No space left"]);
}

#[test]
fn a_case_that_fails_stays_as_a_row_with_its_reason() {
    let files = Files::of(&PLAN.replacen("\"3\"]", "\"3\", \"--cpus\", \"9999\"]", 1));
    let run = files.run().finish().expect(0);
    let row = run.stdout.lines().find(|line| line.contains("failed: "));
    assert!(
        row.is_some_and(|row| row.contains("with tasks") && row.contains("--cpus")),
        "{run}"
    );
    let records = files.records();
    let failed = records.iter().filter(|record| record.error.is_some());
    assert_eq!((records.len(), failed.count()), (4, 2));
    let report = switchcost("report").arg(files.out()).finish();
    assert_eq!(report.expect_quiet_success().stdout, run.stdout);
}

#[test]
fn a_plan_of_which_all_fails_is_an_error_with_its_table() {
    let files = Files::of(&PLAN.replace("\"3\"]", "\"3\", \"--cpus\", \"9999\"]"));
    let run = files
        .run()
        .finish()
        .expect(1)
        .expect_complaint(&["every case failed"]);
    assert_eq!(run.stdout.matches("failed: ").count(), 2, "{run}");
}

#[test]
fn a_program_that_does_not_exist_is_an_error() {
    let files = Files::of(&PLAN.replace("one-thread-brigade", "no-thread-brigade"));
    files
        .run()
        .finish()
        .expect_refusal(2, &["no-thread-brigade"]);
}

#[test]
fn a_table_that_cannot_be_printed_is_an_error_and_its_records_are_kept() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return skip("no /dev/full");
    };
    let files = Files::of(PLAN);
    let run = files.run().finish_into(full).expect(1);
    run.expect_complaint(&["cannot print", "No space left"]);
    assert_eq!(files.records().len(), 4);
}
