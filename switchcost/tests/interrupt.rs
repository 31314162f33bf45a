//! SIGINT and SIGTERM: the run ends by itself and prints what it has.

use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal::{self, SIGINT, SIGTERM};

use crate::support::benchmarks::{Benchmark, all, with};
use crate::support::process::{Outcome, Run};
use crate::support::until;

/// Without end, in short laps.
const ENDLESS: &str = "--tasks 5 --warmups 1 --iters 4000000000";

/// Sends a signal to a run in the middle of its timed loop. When that is reached cannot be seen
/// from outside, so a run that had not come so far is repeated with more time.
fn stop(run: impl Fn() -> Run, signal: Signal) -> Outcome {
    let mut wait = Duration::from_millis(150);
    loop {
        let running = run().start();
        thread::sleep(wait);
        running.signal(signal);
        let outcome = running.finish_all();
        let too_early = outcome.stderr.contains("after 0 of");
        if !too_early || wait > Duration::from_secs(5) {
            return outcome;
        }
        wait *= 3;
    }
}

#[test]
fn an_interrupted_run_prints_what_it_has() {
    for benchmark in all() {
        let run = stop(|| benchmark.run(ENDLESS), SIGINT).expect(130);
        let run = run.expect_complaint(&["interrupted after ", " of 4000000000 iterations"]);
        let mut lines = run.stdout.lines();
        let first = lines.next().unwrap();
        assert!(first.starts_with("partial: "), "{run}");
        assert!(first.ends_with(" of 4000000000 iterations"), "{run}");
        let next = lines.next().unwrap();
        assert!(
            next.starts_with("5 tasks, ") && next.ends_with(" iterations:"),
            "{run}"
        );
        assert!(lines.next().unwrap().starts_with("mean "), "{run}");
    }
}

#[test]
fn a_terminated_run_leaves_a_partial_record() {
    for benchmark in all() {
        let run = || benchmark.run(ENDLESS).flags("--format json");
        let run = stop(run, SIGTERM)
            .expect(143)
            .expect_complaint(&["interrupted after "]);
        let record = run.record();
        let samples = record.samples.unwrap();
        assert!(record.partial && record.error.is_none(), "{run}");
        assert!(samples.count > 0 && samples.count < 4_000_000_000);
        let sum: u64 = samples.series.sums.iter().sum();
        assert!((sum as f64 / samples.count as f64 / samples.mean - 1.0).abs() < 1e-9);
        assert!(record.usage.is_some() && record.per_task.is_some());
    }
}

#[test]
fn every_link_and_executor_stops_with_a_result() {
    for benchmark in with("--executor") {
        for variant in benchmark.transports_on_executors() {
            let run = || {
                benchmark
                    .run(ENDLESS)
                    .flags("--format json")
                    .flags(&variant)
            };
            let record = stop(run, SIGINT).expect(130).record();
            assert!(record.partial && record.error.is_none(), "{variant}");
        }
    }
}

#[test]
fn a_run_interrupted_in_its_warm_up_has_no_result() {
    for benchmark in all() {
        let running = benchmark
            .run("--tasks 5 --iters 1 --warmups 4000000000")
            .start();
        thread::sleep(Duration::from_millis(100));
        running.signal(SIGINT);
        let run = running.finish_all().expect(130);
        let run = run.expect_complaint(&["interrupted after 0 of 1 iterations"]);
        assert!(run.stdout.is_empty(), "{run}");
    }
}

#[test]
fn a_quiet_run_that_is_interrupted_prints_no_result() {
    for benchmark in all() {
        let run = stop(|| benchmark.run(ENDLESS).flags("--quiet"), SIGINT).expect(130);
        assert!(run.stdout.is_empty(), "{run}");
    }
}

/// A command that has a child of its own, as most do.
fn with_command(benchmark: &Benchmark) -> Run {
    benchmark.tiny("").arg("--command").arg("sleep 100; true")
}

#[test]
fn a_command_is_stopped_with_its_program() {
    for benchmark in all() {
        let running = with_command(benchmark).start();
        until("the command runs", || running.has("sleep"));
        running.signal(SIGINT);
        let run = running
            .finish_all()
            .expect(130)
            .expect_complaint(&["--command"]);
        assert!(run.stdout.contains("3 tasks, 4 iterations:\n"), "{run}");
    }
}

#[test]
fn a_terminals_interrupt_stops_a_command_too() {
    for benchmark in all() {
        let running = with_command(benchmark).flags("--format json").start();
        until("the command runs", || running.has("sleep"));
        running.signal_all(SIGINT);
        let run = running
            .finish_all()
            .expect(130)
            .expect_complaint(&["--command"]);
        let record = run.record();
        assert_eq!(record.samples.map(|samples| samples.count), Some(4));
    }
}
