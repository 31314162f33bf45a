//! Ends of a run: cases that hang, and signals.

use std::fs;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal::{SIGINT, SIGTERM};

use crate::support::house::House;
use crate::support::{switchcost, until};

const GOOD: &str = "async-brigade";
const BAD: &str = "one-thread-brigade";

/// A program that neither answers nor heeds SIGTERM, with a child.
const STUCK: &str = "trap '' TERM; sleep 1000; true";

fn house(rounds: u32, before: &str) -> House {
    let house = House::new(rounds, &[GOOD, BAD]);
    house.fake(BAD, before);
    house
}

/// It is ended with all that it started, and not started again, and its time is not the others'. One that is stopped
/// takes no signal but SIGCONT and SIGKILL.
#[test]
fn a_case_that_takes_too_long_is_ended() {
    let house = house(1000, "sleep 1000 & kill -STOP $$");
    house.run("--timeout 1s --budget 2s").finish().expect(1);
    let errors = house.errors(BAD);
    assert_eq!(errors.len(), 1, "{errors:?}");
    for word in ["timed out", "1s", "--timeout", "so it was ended by SIGTERM"] {
        assert!(errors[0].contains(word), "{errors:?}");
    }
    assert_eq!(house.errors(GOOD), [""; 0]);
    assert!(house.processes().len() > 5);
}

#[test]
fn a_case_that_heeds_no_sigterm_is_killed() {
    let house = house(1, STUCK);
    house.run("--timeout 1s").finish().expect(1);
    let errors = house.errors(BAD);
    assert!(errors[0].contains("within 10s after SIGTERM, so it was killed"), "{errors:?}");
}

#[test]
fn an_interrupt_ends_the_plan_and_keeps_what_there_is() {
    for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)] {
        let house = house(100_000, ":");
        let running = house.run("").start();
        until("two rounds are over", || house.processes().len() >= 4);
        running.signal(signal);
        let run = running.finish().expect(code);
        assert!(run.stdout.contains("\nAll\n"), "{run}");
        assert!(house.processes().len() >= 4);
        let report = switchcost("report").arg(house.out()).finish();
        assert_eq!(report.expect_quiet_success().stdout, run.stdout);
    }
}

/// A child that neither ends nor listens: the second interrupt kills it.
#[test]
fn a_second_interrupt_kills_a_case_and_prints_the_rest() {
    let house = house(1, STUCK);
    let running = house.run("").start();
    until("the case runs", || running.has("sleep"));
    running.signal(SIGINT);
    thread::sleep(Duration::from_millis(600));
    running.send(SIGINT);
    let run = running.finish().expect(130);
    assert!(run.stdout.contains("row one-thread-brigade"), "{run}");
    let errors = house.errors(BAD);
    let words = "killed by signal 9 (SIGKILL) after an interrupt";
    assert!(errors.len() == 1 && errors[0].starts_with(words), "{errors:?}");
}

/// Sessions are runs of one file, and what is there is printed at the end, or when a signal ends the wait for the next.
#[test]
fn sessions_are_samples_and_an_interrupt_between_them_keeps_those_before() {
    let house = house(1, ":");
    let sessions = || {
        fs::read_to_string(house.out()).map_or(0, |text| text.matches("\"kind\":\"run\"").count())
    };
    let run = house.run("--sessions 2 --every 1ms --seed 7").finish().expect(0);
    assert_eq!((sessions(), house.processes().len()), (2, 4));
    assert!(run.stderr.contains("session 1 of 2\nsession 2 of 2\n"), "{run}");
    let report = switchcost("report").arg(house.out()).finish();
    assert_eq!(report.expect_quiet_success().stdout, run.stdout);

    let running = house.run("--sessions 2 --every 1h").start();
    until("a third session is over", || house.processes().len() >= 6);
    running.signal(SIGINT);
    let run = running.finish().expect(130);
    assert!(run.stdout.contains("\nAll\n") && run.stderr.contains("records: "), "{run}");
    assert_eq!((sessions(), house.processes().len()), (3, 6));
}
