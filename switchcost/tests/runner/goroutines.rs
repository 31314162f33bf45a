//! Rows of programs in Go, where there is a Go toolchain and where there is none.

use std::fs;
use std::path::Path;

use harness::record::Record;
use tempfile::TempDir;

use crate::support::benchmarks::{self, RUNNER};
use crate::support::process::Run;

/// A row of a program in Go, and with `beside` one of another.
fn plan(beside: bool) -> String {
    let row = |program: &str| {
        format!(
            "[[section.row]]\nname = 'in {program}'\nprogram = '{program}'\n\
             flags = ['--tasks', '3']\niters = 4\nwarmups = 1\n"
        )
    };
    let other = if beside {
        row("async-mem-brigade")
    } else {
        String::new()
    };
    let go = row("goroutine-mem-brigade");
    format!("rounds = 2\n[[section]]\ntitle = 'A hop'\nmetric = 'hop'\n{go}{other}")
}

/// A folder with the runner and these programs, away from cargo's and from the sources.
fn installed(programs: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let built = benchmarks::all()
        .iter()
        .filter(|b| programs.contains(&&*b.name));
    let built = built.map(|b| b.path.as_path());
    for program in built.chain([Path::new(RUNNER)]) {
        let copy = folder.path().join(program.file_name().unwrap());
        fs::hard_link(program, &copy)
            .or_else(|_| fs::copy(program, &copy).map(drop))
            .unwrap();
    }
    folder
}

fn run(folder: &TempDir, beside: bool) -> (crate::support::process::Outcome, Vec<Record>) {
    let path = folder.path().join("plan.toml");
    fs::write(&path, plan(beside)).unwrap();
    let records = folder.path().join("records.jsonl");
    let run = Run::of(folder.path().join("switchcost"))
        .flags("run --budget 0s --plan")
        .arg(&path)
        .arg("--out")
        .arg(&records)
        .finish();
    let text = fs::read_to_string(records).unwrap();
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let records = records.collect();
    (run, records)
}

#[test]
fn where_they_are_their_rows_are_like_any_other() {
    if benchmarks::with("--gogc").next().is_none() {
        // It was said when they were looked for.
        return;
    }
    let folder = installed(&["goroutine-mem-brigade", "async-mem-brigade"]);
    let (run, records) = run(&folder, true);
    let run = run.expect(0);
    assert!(
        !run.stdout.contains("not run") && !run.stdout.contains("failed"),
        "{run}"
    );
    assert!(records.len() == 4 && records.iter().all(|r| r.samples.is_some()));
    // Both found the same machine.
    assert!(!run.stdout.contains("different machines"), "{run}");
    let differing = records[0].machine.same_machine(&records[1].machine);
    assert!(differing.is_empty(), "{differing:?}");
}

#[test]
fn without_a_toolchain_a_row_says_so_and_nothing_fails() {
    let folder = installed(&["async-mem-brigade"]);
    let (run, records) = run(&folder, true);
    let run = run.expect(0);
    assert_eq!(run.stdout.matches("no Go toolchain").count(), 1, "{run}");
    assert!(!run.stdout.contains("failed"), "{run}");
    assert_eq!(records.iter().filter(|r| r.samples.is_some()).count(), 2);
    let told = records.iter().filter_map(|r| r.error.as_deref());
    assert!(
        told.clone().count() == 2
            && told
                .clone()
                .all(|e| e.starts_with("not run: no Go toolchain"))
    );
}

#[test]
fn where_nothing_else_was_asked_for_that_is_no_failure_either() {
    let (run, records) = run(&installed(&[]), false);
    assert!(run.expect(0).stdout.contains("no Go toolchain"));
    assert!(records.iter().all(|record| record.samples.is_none()));
}
