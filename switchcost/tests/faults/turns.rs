//! Two runners at once: the second waits for its turn, and no two write to one file.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal::SIGINT;

use super::House;
use crate::support::process::{Run, Running};
use crate::support::until;

const ROWS: [(&str, &str, u64); 1] = [("one-thread-brigade", "--tasks 3", 4)];

/// A runner that measures without end until it is stopped.
fn endless(lock: &Path) -> (House, Running) {
    let house = House::new(1, &[("one-thread-brigade", "--tasks 3", 4_000_000_000)]);
    let running = with(house.run(""), lock).start();
    until("it measures", || running.has_ready("one-thread-brig"));
    (house, running)
}

fn with(run: Run, lock: &Path) -> Run {
    run.env("SWITCHCOST_LOCK", lock.to_str())
}

#[test]
fn the_second_runner_waits_for_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let (_house, first) = endless(&lock);
    let house = House::new(2, &ROWS);
    let second = with(house.run(""), &lock).start();
    let words = format!(
        "waiting for another switchcost (process {}) to end",
        first.pid()
    );
    until("it says that it waits", || {
        second.stderr_so_far().contains(&words)
    });
    assert_eq!(house.records().len(), 0);
    first.signal(SIGINT);
    first.finish_all().expect(130);
    second.finish_all().expect(0);
    assert_eq!(house.records().len(), 2);
}

#[test]
fn a_wait_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let (_house, first) = endless(&lock);
    let house = House::new(2, &ROWS);
    let second = with(house.run(""), &lock).start();
    until("it says that it waits", || {
        second.stderr_so_far().contains("waiting for")
    });
    second.signal(SIGINT);
    let run = second.finish_all().expect(130);
    run.expect_complaint(&["nothing was measured"]);
    assert!(
        !house.path("out.jsonl").exists(),
        "nothing to keep, no file"
    );
    first.signal(SIGINT);
    first.finish_all().expect(130);
}

#[test]
fn a_runner_that_was_killed_gives_its_turn_up() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let (_house, first) = endless(&lock);
    assert!(first.end_by(nix::sys::signal::Signal::SIGKILL).is_empty());
    let house = House::new(1, &ROWS);
    let run = with(house.run(""), &lock).finish().expect(0);
    assert!(!run.stderr.contains("waiting"), "{run}");
}

#[test]
fn a_lock_that_cannot_be_had_forbids_nothing() {
    let house = House::new(1, &ROWS);
    let run = with(house.run(""), "/nonexistent/lock".as_ref()).finish();
    let words = ["cannot lock /nonexistent/lock", "SWITCHCOST_LOCK"];
    run.expect(0).expect_complaint(&words);
    assert_eq!(house.records().len(), 1);
}

#[test]
fn two_runners_do_not_write_to_one_file() {
    let none = Path::new("none");
    let (house, first) = endless(none);
    let out = house.path("out.jsonl");
    let writer = format!("another switchcost (process {})", first.pid());
    for flag in ["--out", "--resume"] {
        let other = House::new(1, &ROWS);
        let run = Run::of(other.path("switchcost")).flags("run --plan");
        let run = run.arg(other.path("plan.toml")).arg(flag).arg(&out);
        run.finish()
            .expect_refusal(1, &["out.jsonl", &writer, "--out"]);
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), "", "it is still there");
    first.signal(SIGINT);
    first.finish_all().expect(130);
    assert_eq!(house.records().len(), 1);
}
