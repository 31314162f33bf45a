//! A case that hangs, or is killed, in mid-plan: the plan goes on, and the record says why.

use std::thread;
use std::time::Duration;

use harness::notes::Note;
use nix::sys::signal::Signal::{SIGINT, SIGKILL};

use super::{House, errors};
use crate::support::until;

const ENDLESS: u64 = 4_000_000_000;
const BAD: &str = "one-thread-brigade";
const GOOD: &str = "async-mem-brigade";

/// A plan of a program that ends by itself and one that does what a test wants.
fn house(flags: &str, iters: u64) -> House {
    House::new(2, &[(GOOD, "--tasks 3", 4), (BAD, flags, iters)])
}

#[test]
fn a_case_that_takes_too_long_is_ended_and_keeps_its_samples() {
    let house = house("--tasks 3", ENDLESS);
    let run = house.run("--timeout 3s").start().finish_all().expect(0);
    assert!(run.stdout.contains("timed out"), "{run}");
    let records = house.records();
    assert_eq!((records.len(), errors(&records, GOOD).len()), (4, 0));
    for record in records.iter().filter(|r| r.benchmark == BAD) {
        let error = record.error.as_deref().unwrap();
        for word in [
            "timed out",
            "3s",
            "--timeout",
            "SIGTERM",
            "were timed before",
        ] {
            assert!(error.contains(word), "{error}");
        }
        assert!(record.partial && record.samples.as_ref().unwrap().count > 0);
        let stopped = |note: &Note| matches!(note, Note::Stopped { .. });
        assert!(!record.notes.iter().any(stopped), "{:?}", record.notes);
    }
}

#[test]
fn a_case_that_does_not_want_to_end_is_killed_with_all_that_it_started() {
    let house = House::new(1, &[(GOOD, "--tasks 3", 4), (BAD, "--tasks 3", 4)]);
    house.fake(BAD, "trap '' TERM; sleep 1000; true");
    house.run("--timeout 1s").start().finish_all().expect(0);
    let records = house.records();
    assert_eq!((records.len(), errors(&records, GOOD).len()), (2, 0));
    let error = errors(&records, BAD)[0];
    for word in [
        "timed out",
        "1s",
        "--timeout",
        "within 10s of SIGTERM",
        "killed",
    ] {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_time_limit_must_leave_some_time() {
    let house = house("--tasks 3", 4);
    for time in ["0s", "-1s", "soon"] {
        let run = house.run("").arg(format!("--timeout={time}")).finish();
        run.expect_refusal(2, &["--timeout"]);
    }
}

#[test]
fn a_case_that_is_killed_is_a_record_and_the_plan_goes_on() {
    let house = house("--tasks 3", ENDLESS);
    let running = house.run("").start();
    for _ in 0..2 {
        until("the case runs", || running.pid_of(BAD).is_some());
        let killed = running.pid_of(BAD).unwrap();
        nix::sys::signal::kill(killed, SIGKILL).unwrap();
        until("it is gone", || running.pid_of(BAD) != Some(killed));
    }
    running.finish_all().expect(0);
    let records = house.records();
    assert_eq!((records.len(), errors(&records, GOOD).len()), (4, 0));
    let errors = errors(&records, BAD);
    assert_eq!(errors.len(), 2);
    for error in errors {
        assert!(error.starts_with("killed by signal 9 (SIGKILL)"), "{error}");
        assert!(
            error.contains("nothing of what it measured is left"),
            "{error}"
        );
    }
}

#[test]
fn what_a_case_said_before_it_was_killed_is_kept() {
    let house = house("--tasks 3", 4);
    house.fake(BAD, "echo out of luck >&2; kill -SEGV $$");
    house.run("").finish().expect(0);
    let records = house.records();
    for error in errors(&records, BAD) {
        assert!(
            error.starts_with("killed by signal 11 (SIGSEGV)"),
            "{error}"
        );
        assert!(error.contains("out of luck"), "{error}");
    }
}

/// A child that neither ends nor listens: the second interrupt kills it, and the run ends with
/// what it has.
#[test]
fn a_second_interrupt_kills_a_case_and_prints_the_rest() {
    let house = house("--tasks 3", 4);
    house.fake(BAD, "trap '' TERM; sleep 1000; true");
    let running = house.run("").start();
    until("the case runs", || running.has("sleep"));
    running.signal(SIGINT);
    thread::sleep(Duration::from_millis(600));
    running.send(SIGINT);
    let run = running.finish_all().expect(130);
    assert!(run.stdout.contains("of one-thread-brigade"), "{run}");
    let records = house.records();
    let errors = errors(&records, BAD);
    assert_eq!(errors.len(), 1, "{run}");
    let words = "killed by signal 9 (SIGKILL) after an interrupt";
    assert!(errors[0].starts_with(words), "{run}");
}
