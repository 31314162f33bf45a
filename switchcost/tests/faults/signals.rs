//! Signals besides the first SIGINT: the second one, those of terminals and pipes, and a process
//! that is stopped and continued.

use std::thread;
use std::time::Duration;

use harness::notes::Note;
use nix::sys::signal::Signal::{self, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};

use super::chains;
use crate::support::benchmarks::{Benchmark, all};
use crate::support::process::Outcome;
use crate::support::until;

/// Without end, in short laps.
const ENDLESS: &str = "--tasks 5 --warmups 0 --iters 4000000000 --format json";

/// Signals that are further apart than this are two requests.
const APART: Duration = Duration::from_millis(600);

/// When a run has come to its timed laps cannot be seen from outside; most have by then.
const A_WHILE: Duration = Duration::from_millis(300);

/// A chain of which one task has stopped to pass on, so that no lap and no teardown ends, at two
/// signals. When it has come so far cannot be seen from outside: one that had not is repeated with
/// more time.
fn stop_what_hangs(benchmark: &Benchmark, signal: Signal) -> Outcome {
    let mut wait = A_WHILE;
    loop {
        let running = benchmark.run(ENDLESS).flags("--test-fault hang@2").start();
        running.await_handler(signal);
        thread::sleep(wait);
        running.send(signal);
        thread::sleep(APART);
        // Two that come before a busy system has delivered the first one are one.
        for _ in 0..20 {
            if !running.has(benchmark.comm()) {
                break;
            }
            running.send(signal);
            thread::sleep(APART);
        }
        let outcome = running.finish_all();
        let too_early = outcome.stderr.contains("after 0 of");
        if !too_early || wait > Duration::from_secs(5) {
            return outcome;
        }
        wait *= 3;
    }
}

#[test]
fn a_second_interrupt_ends_what_hangs() {
    for benchmark in chains() {
        for signal in [SIGINT, SIGTERM] {
            let run = stop_what_hangs(benchmark, signal).expect(128 + signal as i32);
            let words = [benchmark.name.as_str(), "interrupted again", "is lost"];
            let run = run.expect_complaint(&words);
            assert!(run.stdout.is_empty(), "{run}");
        }
    }
}

#[test]
fn a_second_interrupt_kills_a_command_and_keeps_the_result() {
    for benchmark in all() {
        let deaf = "trap '' INT TERM; sleep 100; true";
        let running = benchmark.tiny("").arg("--command").arg(deaf).start();
        until("the command runs", || running.has("sleep"));
        running.signal(SIGINT);
        thread::sleep(APART);
        running.send(SIGINT);
        let run = running.finish_all().expect(130);
        let run = run.expect_complaint(&["--command was interrupted"]);
        assert!(run.stdout.starts_with("3 tasks, 4 iterations:\n"), "{run}");
    }
}

/// As timeout(1) does it: to the process, and then to its group.
#[test]
fn two_signals_at_once_are_one_request() {
    for benchmark in all() {
        let running = benchmark.run(ENDLESS).start();
        running.signal(SIGTERM);
        running.send(SIGTERM);
        running.send(SIGINT);
        let run = running.finish_all();
        assert!([130, 143].contains(&run.code), "{run}");
        let run = run.expect_complaint(&["interrupted after "]);
        assert!(run.record().partial, "{run}");
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it_with_a_result() {
    for benchmark in all() {
        let running = benchmark.run(ENDLESS).start();
        running.signal(SIGHUP);
        let run = running.finish_all().expect(129);
        assert!(run.record().partial, "{run}");
    }
}

#[test]
fn under_nohup_it_goes_on() {
    for benchmark in all() {
        let nohup = r#"trap '' HUP; exec "$0" "$@""#;
        let running = benchmark.within(nohup, ENDLESS).start();
        running.await_handler(SIGINT);
        running.send(SIGHUP);
        thread::sleep(A_WHILE);
        running.signal(SIGINT);
        running.finish_all().expect(130);
    }
}

#[test]
fn a_broken_pipe_somewhere_is_no_reason_to_stop() {
    for benchmark in all() {
        let running = benchmark.run(ENDLESS).start();
        running.await_handler(SIGINT);
        running.send(SIGPIPE);
        thread::sleep(A_WHILE);
        running.signal(SIGINT);
        running.finish_all().expect(130);
    }
}

#[test]
fn quitting_ends_it_at_once_and_leaves_nothing() {
    for benchmark in all() {
        let without_core = r#"ulimit -c 0; exec "$0" "$@""#;
        let running = benchmark.within(without_core, ENDLESS).start();
        running.await_handler(SIGINT);
        assert_eq!(running.end_by(SIGQUIT), Vec::<String>::new());
    }
}

/// Every benchmark, and the loop that waits by epoll itself.
fn with_nonblocking() -> impl Iterator<Item = (&'static Benchmark, &'static str)> {
    let nonblocking = all().iter().filter(|b| b.has("--nonblocking"));
    let plain = all().iter().map(|b| (b, ""));
    plain.chain(nonblocking.map(|b| (b, "--nonblocking")))
}

#[test]
fn a_run_that_was_stopped_and_continued_says_so_and_keeps_every_sample() {
    let pause = Duration::from_millis(200);
    for (benchmark, flags) in with_nonblocking() {
        // A stop may fall between two samples, where it spoils none: seldom, and not each time.
        let mut is_noted = false;
        for _ in 0..5 {
            let running = benchmark.run(ENDLESS).flags(flags).start();
            running.await_handler(SIGINT);
            thread::sleep(A_WHILE);
            running.stop_for(pause);
            thread::sleep(A_WHILE);
            running.signal(SIGINT);
            let run = running.finish_all().expect(130);
            let record = run.record();
            assert!(record.error.is_none(), "{run}");
            let stopped = record.notes.iter().find_map(|note| match note {
                Note::Stopped { times, samples, .. } => Some((*times, samples.clone())),
                _ => None,
            });
            let Some((times, named)) = stopped else {
                continue;
            };
            assert_eq!((times, named.len()), (1, 1), "{run}");
            let samples = record.samples.unwrap();
            assert!(named[0] <= samples.count, "{run}");
            is_noted = u128::from(samples.max) >= pause.as_nanos() || !benchmark.has("--tokens");
            if is_noted {
                break;
            }
        }
        assert!(is_noted, "{} {flags}: no stop in a sample", benchmark.name);
    }
}

#[test]
fn stops_break_no_read_no_wait_and_no_command() {
    for (benchmark, flags) in with_nonblocking() {
        let command = "sleep 0.3; echo done";
        let size = "--tasks 20 --iters 200 --format json";
        let run = benchmark.run(size).flags(flags);
        let running = run.arg("--command").arg(command).start();
        for _ in 0..5 {
            running.stop_for(Duration::from_millis(10));
            thread::sleep(Duration::from_millis(5));
        }
        let run = running.finish_all().expect(0).expect_complaint(&["done"]);
        let record = run.record();
        assert!(!record.partial && record.error.is_none(), "{run}");
        assert_eq!(record.samples.map(|samples| samples.count), Some(200));
    }
}

#[test]
fn a_run_that_nobody_stopped_does_not_say_so() {
    for benchmark in all() {
        let run = benchmark.tiny("--format json").finish();
        let record = run.expect_quiet_success().record();
        let disturbed = |n: &Note| matches!(n, Note::Stopped { .. } | Note::CpusChanged { .. });
        assert!(!record.notes.iter().any(disturbed), "{:?}", record.notes);
    }
}
