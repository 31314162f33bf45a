//! Tasks that are processes: one of them is killed, their driver is, and a terminal's signals reach
//! all of them.

use std::fs;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal::{self, SIGINT, SIGKILL, SIGSEGV, SIGTERM};
use nix::sys::signal::{kill, killpg};
use nix::unistd::Pid;

use crate::support::benchmarks::{Benchmark, all};
use crate::support::process::Running;
use crate::support::until;

const ENDLESS: &str = "--tasks 5 --warmups 0 --iters 4000000000 --format json";

fn of_processes() -> impl Iterator<Item = &'static Benchmark> {
    all().iter().filter(|benchmark| benchmark.has_processes())
}

/// The processes that a run has forked, in that order.
fn children(running: &Running) -> Vec<Pid> {
    let pid = running.pid();
    let path = format!("/proc/{pid}/task/{pid}/children");
    let list = fs::read_to_string(path).unwrap_or_default();
    let pids = list.split_whitespace().map(|pid| pid.parse().unwrap());
    pids.map(Pid::from_raw).collect()
}

/// A run whose tasks have passed tokens on for a moment.
fn under_way(benchmark: &Benchmark, flags: &str) -> Running {
    let running = benchmark.run(ENDLESS).flags(flags).start();
    running.await_handler(SIGINT);
    until("every process is there", || children(&running).len() == 5);
    thread::sleep(Duration::from_millis(300));
    running
}

#[test]
fn one_that_is_killed_is_told_with_its_signal_and_the_samples_are_kept() {
    for benchmark in of_processes() {
        for (task, signal) in [(0, SIGKILL), (2, SIGSEGV), (4, SIGKILL)] {
            let running = under_way(benchmark, "");
            kill(children(&running)[task], signal).unwrap();
            let run = running.finish_all().expect(1);
            let words = [
                format!("task {task}: killed by {signal}"),
                format!("({})", signal as i32),
            ];
            let run = run.expect_complaint(&[&words[0], &words[1]]);
            let record = run.record();
            assert!(record.partial && record.error.is_some(), "{run}");
            assert!(record.samples.is_some_and(|s| s.count > 0), "{run}");
        }
    }
}

#[test]
fn none_has_a_handler_of_its_driver() {
    for benchmark in of_processes() {
        let running = under_way(benchmark, "");
        for pid in children(&running) {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            assert_eq!(caught.map(str::trim), Some("0000000000000000"), "{status}");
            let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
            assert_eq!(blocked.map(str::trim), Some("0000000000000000"), "{status}");
        }
        running.signal(SIGINT);
        running.finish_all().expect(130);
    }
}

#[test]
fn none_outlives_its_driver() {
    for benchmark in of_processes() {
        for flags in ["", "--test-fault hang@2"] {
            let running = under_way(benchmark, flags);
            assert_eq!(running.end_by(SIGKILL), Vec::<String>::new(), "{flags}");
        }
    }
}

#[test]
fn a_signal_to_all_of_them_leaves_the_driver_in_charge() {
    for benchmark in of_processes() {
        for signal in [SIGINT, SIGTERM, Signal::SIGHUP] {
            let running = under_way(benchmark, "");
            running.signal_all(signal);
            let run = running.finish_all().expect(128 + signal as i32);
            let record = run.record();
            assert!(record.partial && record.error.is_none(), "{run}");
            let (samples, usage) = (record.samples.unwrap(), record.usage.unwrap());
            assert!(samples.count > 0 && usage.voluntary_switches > 0, "{run}");
        }
    }
}

#[test]
fn they_are_stopped_and_continued_together() {
    for benchmark in of_processes() {
        let running = under_way(benchmark, "");
        for signal in [Signal::SIGSTOP, Signal::SIGCONT] {
            killpg(running.pid(), signal).unwrap();
            thread::sleep(Duration::from_millis(100));
        }
        running.signal(SIGINT);
        let run = running.finish_all().expect(130);
        assert!(run.record().error.is_none(), "{run}");
    }
}

/// As a shell leaves it that ignores the end of its children.
#[test]
fn a_parent_that_ignores_sigchld_changes_nothing() {
    for benchmark in of_processes() {
        let script = r#"trap '' CHLD; exec "$0" "$@""#;
        let run = benchmark.within(script, "--tasks 3 --iters 4").finish();
        run.expect_quiet_success();
    }
}
