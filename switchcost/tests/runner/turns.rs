//! Turns of programs: what is asked of them. And two runners at once: the second waits for its turn, and no two write to
//! one file.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal::{SIGINT, SIGKILL};

use crate::support::house::House;
use crate::support::process::{Run, Running};
use crate::support::until;

const PROGRAM: [&str; 1] = ["one-thread-brigade"];

/// A runner that measures without end until it is stopped.
fn endless(lock: &Path) -> (House, Running) {
    let house = House::new(1, &PROGRAM);
    house.fake(PROGRAM[0], "exec sleep 1000");
    let running = with(house.run(""), lock).start();
    until("it measures", || running.has("sleep"));
    (house, running)
}

fn with(run: Run, lock: &Path) -> Run {
    run.env("SWITCHCOST_LOCK", lock.to_str())
}

#[test]
fn the_second_runner_waits_for_the_first_even_one_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let (_house, first) = endless(&lock);
    let house = House::new(2, &PROGRAM);
    let words = "waiting for another switchcost to end";
    let wait = || {
        let running = with(house.run(""), &lock).start();
        until("it says that it waits", || running.stderr_so_far().contains(words));
        assert!(running.stderr_so_far().contains("SWITCHCOST_LOCK=none"));
        running
    };
    let interrupted = wait();
    interrupted.signal(SIGINT);
    interrupted.finish().expect(130).expect_complaint(&["nothing was measured"]);
    assert!(!house.out().exists(), "nothing to keep, no file");
    let second = wait();
    assert_eq!(house.processes().len(), 0);
    assert!(first.end_by(SIGKILL).is_empty());
    second.finish().expect(0);
    assert_eq!(house.processes().len(), 2);
}

#[test]
fn a_lock_that_cannot_be_had_forbids_nothing() {
    let house = House::new(1, &PROGRAM);
    let run = with(house.run(""), "/nonexistent/lock".as_ref()).finish();
    run.expect(0).expect_complaint(&["cannot lock /nonexistent/lock", "SWITCHCOST_LOCK"]);
    assert_eq!(house.processes().len(), 1);
}

#[test]
fn two_runners_do_not_write_to_one_file() {
    let (house, first) = endless(Path::new("none"));
    let other = House::new(1, &PROGRAM);
    let run = other.switchcost("run --plan plan.toml --out").arg(house.out()).finish();
    run.expect_refusal(1, &["out.jsonl", "another switchcost", "--out"]);
    assert!(first.end_by(SIGKILL).is_empty());
}

/// A program whose iterations take 4 ms, as it says; it keeps what it is asked.
fn asked(house: &House, run: Run, status: i32) -> Vec<String> {
    house.fake(PROGRAM[0], "ns=4000000; echo \"$what $n\" >>requests");
    run.finish().expect(status);
    let requests = fs::read_to_string(house.path("requests")).unwrap();
    requests.lines().map(|line| line.trim().to_owned()).collect()
}

/// A turn begins with iterations that are not kept, and its slices follow. After a pause, there are none.
#[test]
fn a_turn_settles_before_its_slices() {
    for (line, requests) in
        [("", "run 3, run 40, run 2, run 2, end"), ("pause_ms = 1\n", "run 3, run 2, run 2, end")]
    {
        let house = House::new(1, &PROGRAM);
        house.set_plan(&(house.plan() + line));
        assert_eq!(asked(&house, house.run(""), 0).join(", "), requests);
        for process in house.processes() {
            assert_eq!(process["samples"]["count"], 4, "{process}");
            assert_eq!(process["thirds"]["first"], process["thirds"]["last"], "{process}");
        }
    }
    // The sides of a duel are equally slow after a wait.
    let house = House::new(1, &PROGRAM);
    let duel = house.switchcost("duel --plan plan.toml --budget 1s --out d.jsonl --b X=1");
    let asked = asked(&house, duel, 3);
    assert!(asked.contains(&"run 2".to_owned()) && !asked.contains(&"run 40".to_owned()));
}
