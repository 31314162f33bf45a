//! `--floor`: the least that creating can cost.

use harness::record::Record;
use nix::sys::signal::Signal::SIGINT;

use crate::support::benchmarks::{Benchmark, with};

fn record(benchmark: &Benchmark, flags: &str) -> Record {
    let run = benchmark.run("--iters 3 --warmups 1 --format json");
    let run = run.flags(flags).finish();
    run.expect_quiet_success().record()
}

#[test]
fn it_creates_and_counts_as_the_usual_ones_do() {
    for benchmark in with("--floor") {
        let record = record(benchmark, "--floor --tasks 50");
        assert_eq!(record.params["floor"], true);
        assert_eq!(record.runtime, None, "there is none");
        assert_eq!(record.samples.map(|samples| samples.count), Some(3));
        for name in ["creation", "spawn_to_body"] {
            let distribution = &record.distributions[name];
            assert_eq!(distribution.count, 3 * 50, "{name}");
            assert!(distribution.max > 0, "{name}");
        }
        assert!(record.setup.is_some() && record.teardown.is_some());
        assert!(record.error.is_none() && record.notes.len() <= 4);
    }
}

/// A usual thread has a page of its stack at least, and a task the header of its runtime.
#[test]
fn it_holds_less_than_the_usual_ones() {
    for benchmark in with("--floor") {
        let gain = |flags: &str| {
            let gain = |tasks: u32| {
                let flags = format!("{flags} --tasks {tasks}");
                record(benchmark, &flags).resident_gain().unwrap() as f64
            };
            (gain(3000) - gain(1000)) / 2000.0
        };
        let (floor, usual) = (gain("--floor"), gain(""));
        assert!(
            floor < usual && floor < 1024.0,
            "{}: {floor} and {usual} bytes each",
            benchmark.name
        );
    }
}

#[test]
fn its_threads_are_alive_where_a_command_looks() {
    for benchmark in with("--floor").filter(|benchmark| benchmark.has_threads()) {
        let run = benchmark.tiny("--floor -q").arg("--command");
        let run = run.arg("ls /proc/{pid}/task | wc -l").finish();
        let run = run.expect_quiet_success();
        assert_eq!(run.line().trim(), "4", "{run}");
    }
}

#[test]
fn what_it_leaves_out_cannot_be_chosen() {
    for benchmark in with("--floor") {
        for flags in [
            "--stacks arena",
            "--flavor current-thread",
            "--workers 2",
            "--placement half",
            "--placement spread",
        ] {
            let flag = flags.split(' ').next().unwrap();
            if benchmark.has(flag) {
                let run = benchmark.tiny("--floor").flags(flags).finish();
                run.expect_refusal(2, &[flag]);
            }
        }
    }
}

#[test]
fn an_interrupt_ends_it_with_a_partial_record() {
    for benchmark in with("--floor") {
        let flags = "--floor --tasks 20 --warmups 0 --iters 4000000000 --format json";
        let running = benchmark.run(flags).start();
        running.signal_all(SIGINT);
        let run = running.finish_all().expect(130);
        let record = run.record();
        assert!(record.partial && record.error.is_none(), "{run}");
    }
}
