//! `switchcost run`, stopped by a signal.

use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal::{SIGINT, SIGKILL, SIGTERM};

use super::{Files, PLAN, switchcost};
use crate::support::process::Running;
use crate::support::until;

#[test]
fn between_two_cases_it_prints_what_was_measured() {
    let files = Files::of(&PLAN.replace("rounds = 2", "rounds = 100000"));
    let running = files.run().start();
    until("two rounds are over", || files.text().lines().count() > 4);
    running.signal(SIGINT);
    let run = running.finish_all().expect(130);
    assert!(run.stdout.contains("\nTwo of them\n"), "{run}");
    let records = files.records();
    assert!(records.len() > 4);
    let report = switchcost("report").arg(files.out()).finish();
    assert_eq!(report.expect_quiet_success().stdout, run.stdout);
}

/// Cases that would not end by themselves.
fn endless() -> Files {
    Files::of(&PLAN.replace("iters = 4", "iters = 4000000000"))
}

/// Whether a case runs; the kernel keeps 15 characters of a name.
fn measures(running: &Running) -> bool {
    running.has_ready("async-mem-briga") || running.has_ready("one-thread-brig")
}

#[test]
fn in_a_case_it_keeps_what_that_has() {
    for (signal, code, of_terminal) in [
        (SIGINT, 130, true),
        (SIGINT, 130, false),
        (SIGTERM, 143, false),
    ] {
        let files = endless();
        let running = files.run().start();
        until("a case runs", || measures(&running));
        thread::sleep(Duration::from_millis(300));
        match of_terminal {
            true => running.signal_all(signal),
            false => running.signal(signal),
        }
        let run = running.finish_all().expect(code);
        let records = files.records();
        assert_eq!(records.len(), 1, "{run}");
        assert!(records[0].partial && records[0].error.is_none(), "{run}");
    }
}

#[test]
fn no_case_outlives_a_runner_that_is_killed() {
    let files = endless();
    let running = files.run().start();
    until("a case runs", || measures(&running));
    assert_eq!(running.end_by(SIGKILL), Vec::<String>::new());
}
