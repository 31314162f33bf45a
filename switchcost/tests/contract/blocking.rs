//! The program that compares strategies for work that blocks: its threads, its operations, and what
//! its neighbours notice.

use harness::record::Record;
use nix::sys::signal::Signal::SIGINT;

use crate::support::benchmarks::{Benchmark, offering};
use crate::support::process::Run;

fn blocking() -> impl Iterator<Item = &'static Benchmark> {
    offering("--operation", "noop")
}

fn record(benchmark: &Benchmark, flags: &str) -> Record {
    let run = benchmark.run("--iters 4 --warmups 1 --format json");
    run.flags(flags).finish().expect_quiet_success().record()
}

/// Each strategy, the pool with either queue.
fn strategies(benchmark: &Benchmark) -> Vec<String> {
    let of_flag = |flag: &str| {
        let values = benchmark.flags[flag].iter();
        values.map(|value| benchmark.choice(flag, value)).collect()
    };
    let mut strategies: Vec<String> = of_flag("--strategy");
    assert_eq!(strategies.len(), 4, "{strategies:?}");
    strategies.extend(of_flag("--queue"));
    strategies
}

#[test]
fn every_strategy_does_every_operation_and_has_no_more_threads_than_the_others() {
    for benchmark in blocking() {
        for strategy in strategies(benchmark) {
            for operation in &benchmark.flags["--operation"] {
                let record = record(benchmark, &format!("{strategy} --operation {operation}"));
                let (tasks, threads) = match operation.as_str() {
                    "sleep" => (200, 44),
                    _ => (100, 8),
                };
                assert_eq!(record.tasks(), Some(tasks), "{operation}");
                assert_eq!(record.param("threads"), Some(threads), "{operation}");
                let direct = strategy.ends_with("direct");
                let workers = if direct { threads } else { 4 };
                let runtime = record.runtime.unwrap();
                assert_eq!(u64::from(runtime.workers), workers, "{strategy}");
                let peak = record.peak_threads.unwrap();
                assert!(
                    (workers..=threads).contains(&peak),
                    "{strategy}: {peak} threads"
                );
            }
        }
    }
}

/// Operations that all of these threads are needed for at once, since each sleeps.
#[test]
fn threads_scale_and_all_of_them_are_used() {
    for benchmark in blocking() {
        for threads in [2, 3, 20] {
            for strategy in strategies(benchmark) {
                let flags = "--operation sleep --length 5ms --tasks 60 --no-neighbours";
                let record = record(
                    benchmark,
                    &format!("{strategy} {flags} --threads {threads}"),
                );
                assert_eq!(record.peak_threads, Some(threads), "{strategy}");
            }
        }
    }
}

#[test]
fn the_threads_are_in_the_text_and_gone_at_the_end() {
    for benchmark in blocking() {
        for strategy in strategies(benchmark) {
            let run = benchmark.tiny("--operation sleep --threads 6 --tasks 12");
            let run = run.flags(&strategy).finish().expect_quiet_success();
            let line = "  threads         6 besides the main one\n";
            assert!(run.stdout.contains(line), "{run}");
        }
    }
}

#[test]
fn neighbours_are_heard_alone_and_beside_the_batches() {
    for benchmark in blocking() {
        for strategy in strategies(benchmark) {
            let with = record(benchmark, &format!("{strategy} --heartbeat 500us"));
            for name in ["heartbeat", "heartbeat_idle"] {
                let beats = &with.distributions[name];
                assert!(beats.count >= 100, "{strategy}: {} {name}", beats.count);
            }
            for name in ["echo", "echo_idle", "batch_beside"] {
                let heard = &with.distributions[name];
                assert!(heard.count >= 1 && heard.min > 0, "{strategy}: {name}");
            }
            assert!(with.distributions["batch_beside"].count >= 4);
            assert_eq!(with.param("heartbeat"), Some(500_000));
            let without = record(benchmark, &format!("{strategy} --no-neighbours"));
            assert!(without.distributions.is_empty(), "{strategy}");
        }
    }
}

/// All workers sleep for 20 ms, nine tenths of the time and more: a beat of each ms meets that.
#[test]
fn a_blocked_reactor_is_heard_for_as_long_as_it_is_blocked() {
    for benchmark in blocking() {
        let late = |strategy: &str| {
            let flags = "--operation sleep --length 20ms --threads 4 --tasks 16";
            let record = record(benchmark, &format!("{flags} --strategy {strategy}"));
            record.distributions["heartbeat"].clone()
        };
        let direct = late("direct");
        assert!(direct.max >= 10_000_000, "{}", direct.max);
        // Beats that fell due meanwhile count too, so that half of them are late by ms.
        assert!(direct.p50 >= 1_000_000, "{}", direct.p50);
    }
}

#[test]
fn sleeps_and_spins_last_as_long_as_asked_for() {
    for benchmark in blocking() {
        for strategy in strategies(benchmark) {
            for operation in ["sleep", "spin"] {
                let flags = format!("{strategy} --operation {operation} --tasks 6");
                let fixed = record(benchmark, &format!("{flags} --length 300us"));
                let took = &fixed.distributions["operation"];
                assert_eq!(took.count, 4 * 6, "{strategy} {operation}");
                assert!(took.min >= 300_000, "{strategy} {operation}: {}", took.min);
                let drawn = record(benchmark, &flags);
                assert!(drawn.distributions["operation"].min >= 1_000);
            }
            let none = record(benchmark, &format!("{strategy} --operation noop"));
            assert!(!none.distributions.contains_key("operation"));
        }
    }
}

#[test]
fn the_timer_slack_is_what_was_asked_for() {
    for benchmark in blocking() {
        let flags = "--operation sleep --tasks 4 --no-neighbours --timer-slack";
        let record = |slack: &str| record(benchmark, &format!("{flags} {slack}"));
        assert_eq!(record("1ns").timer_slack, Some(1));
        let late = record("20ms");
        assert_eq!(late.timer_slack, Some(20_000_000));
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for benchmark in blocking() {
        for (flags, words) in [
            ("--length 5us", ["--length", "--operation sleep"]),
            (
                "--operation noop --length 5us",
                ["--length", "--operation sleep"],
            ),
            ("--queue bounded", ["--queue", "--strategy dispatch"]),
            (
                "--strategy permit --queue unbounded",
                ["--queue", "--strategy dispatch"],
            ),
            ("--threads 1", ["--threads", "2..=32768"]),
            ("--heartbeat 9us", ["--heartbeat", "10us to 1s"]),
            ("--heartbeat 2s", ["--heartbeat", "10us to 1s"]),
            (
                "--length soon --operation spin",
                ["--length", "span of time"],
            ),
            ("--timer-slack 0s", ["--timer-slack", "1ns"]),
        ] {
            benchmark.tiny(flags).finish().expect_refusal(2, &words);
        }
    }
}

#[test]
fn threads_that_the_limits_forbid_are_refused_by_their_flag() {
    for benchmark in blocking() {
        let script = r#"ulimit -v 4000000; exec "$0" "$@""#;
        for strategy in strategies(benchmark) {
            let run = benchmark.within(script, "--threads 5000 --iters 1");
            let run = run.flags(&strategy).finish();
            run.expect_refusal(1, &["lower --threads", "ulimit -v"]);
        }
    }
}

fn faulty(benchmark: &Benchmark, strategy: &str, fault: &str) -> Run {
    let size = "--tasks 5 --iters 100000 --warmups 0 --test-fault";
    benchmark.run(size).arg(fault).flags(strategy)
}

#[test]
fn an_operation_that_fails_is_the_error_and_the_samples_are_kept() {
    for benchmark in blocking() {
        for strategy in strategies(benchmark) {
            for (fault, words) in [
                ("fail@2", "task 2: fails here, as --test-fault asks"),
                (
                    "panic@4",
                    "task 4: ends here, as --test-fault asks (a panic",
                ),
                ("close@0", "task 0: the operation"),
            ] {
                let run = faulty(benchmark, &strategy, fault).start().finish_all();
                let run = run.expect(1).expect_complaint(&[words]);
                assert_eq!(run.stderr.lines().count(), 1, "{run}");
                assert!(
                    run.stdout.starts_with("partial: 3 of 100000 iterations\n"),
                    "{run}"
                );
            }
            let run = faulty(benchmark, &strategy, "absent@1")
                .start()
                .finish_all();
            let run = run.expect(1).expect_complaint(&["task 1: fails here"]);
            assert!(run.stdout.is_empty(), "no sample: {run}");
        }
    }
}

#[test]
fn an_interrupt_beside_the_neighbours_keeps_all_samples() {
    for benchmark in blocking() {
        for strategy in strategies(benchmark) {
            // Timed within a moment; the first pass with neighbours alone takes a hundred beats.
            let flags = "--tasks 3 --iters 4 --warmups 0 --heartbeat 100ms --format json";
            let running = benchmark.run(flags).flags(&strategy).start();
            std::thread::sleep(std::time::Duration::from_secs(1));
            running.signal_all(SIGINT);
            let record = running.finish_all().expect(130).record();
            assert!(!record.partial && record.error.is_none(), "{strategy}");
            assert!(!record.distributions.contains_key("heartbeat"));
        }
    }
}

#[test]
fn an_operation_that_hangs_is_ended_by_the_second_signal() {
    for benchmark in blocking() {
        for strategy in strategies(benchmark) {
            let running = faulty(benchmark, &strategy, "hang@3").start();
            running.signal_all(SIGINT);
            std::thread::sleep(std::time::Duration::from_millis(800));
            running.signal_all(SIGINT);
            running.finish_all().expect(130);
        }
    }
}
