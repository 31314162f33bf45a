//! What runs the tasks of the program that has an executor of its own.

use harness::record::{Record, Runtime};

use crate::support::benchmarks::{Benchmark, offering, with};

fn record(benchmark: &Benchmark, flags: &str) -> Record {
    let run = benchmark.tiny("--format json").flags(flags).finish();
    run.expect_quiet_success().record()
}

#[test]
fn every_link_runs_on_every_executor_that_it_is_for() {
    for benchmark in offering("--executor", "one-page") {
        for variant in benchmark.transports_on_executors() {
            for flags in ["", "--touch 100 --shuffle 5", "--shuffle 1 --tokens 3"] {
                let record = record(benchmark, &format!("{variant} {flags}"));
                let samples = record.samples.unwrap();
                assert_eq!(samples.count, 4, "{variant} {flags}");
            }
        }
    }
}

#[test]
fn the_record_names_the_executor_that_ran() {
    for benchmark in offering("--executor", "one-page") {
        let tokio = record(benchmark, "");
        let runtime = tokio.runtime.unwrap();
        assert_eq!(
            (runtime.name.as_str(), &runtime.version),
            ("tokio", &tokio.build.tokio)
        );
        let smol = record(benchmark, "--executor smol").runtime.unwrap();
        assert_eq!(
            (smol.name.as_str(), smol.workers),
            ("async-executor", 1),
            "that is what smol runs tasks by"
        );
        assert!(
            smol.version
                .is_some_and(|version| version.starts_with("1."))
        );
        let record = record(benchmark, "--executor one-page");
        assert_eq!(record.params["executor"], "one-page");
        let expected = Runtime {
            name: "one-page".to_owned(),
            // It has no other version than that of its program.
            version: record.build.package_version,
            flavor: "current-thread".to_owned(),
            workers: 1,
        };
        assert_eq!(record.runtime, Some(expected));
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for benchmark in offering("--executor", "one-page") {
        for (flags, words) in [
            ("--transport slot", ["--transport", "one-page"]),
            (
                "--transport slot --executor smol",
                ["--transport", "one-page"],
            ),
            (
                "--transport slot --executor tokio",
                ["--transport", "one-page"],
            ),
            ("--transport notify --capacity 2", ["--capacity", "mpsc"]),
            ("--transport unbounded --capacity 1", ["--capacity", "mpsc"]),
            (
                "--executor one-page --flavor multi-thread",
                ["--flavor", "tokio"],
            ),
            ("--executor one-page --workers 1", ["--workers", "tokio"]),
            (
                "--executor one-page --placement half",
                ["--placement", "tokio"],
            ),
            (
                "--executor one-page --placement spread",
                ["--placement", "tokio"],
            ),
            (
                "--executor smol --flavor multi-thread",
                ["--flavor", "smol"],
            ),
            ("--executor smol --workers 1", ["--workers", "tokio"]),
            ("--executor smol --placement half", ["--placement", "tokio"]),
            ("--executor rayon", ["--executor", "one-page"]),
        ] {
            benchmark.tiny(flags).finish().expect_refusal(2, &words);
        }
    }
}

#[test]
fn less_memory_is_asked_for_where_less_is_held() {
    for benchmark in offering("--executor", "one-page") {
        let largest = |flags: &str| -> u64 {
            let run = benchmark.tiny("--check-limits --format json").flags(flags);
            let answer = run.finish().expect_quiet_success();
            let answer: serde_json::Value = serde_json::from_str(answer.line()).unwrap();
            answer["demand"]["per_task"]["memory"].as_u64().unwrap()
        };
        let channel = largest("");
        let notify = largest("--transport notify");
        let floor = largest("--transport slot --executor one-page");
        assert!(floor < notify && notify < channel);
    }
}

/// A runtime may keep all tasks on one worker or bounce them.
#[test]
fn workers_tell_what_they_did() {
    let brigades = offering("--flavor", "multi-thread").filter(|b| b.has("--tokens"));
    for benchmark in brigades {
        let flags = "--tasks 2 --iters 3000 --flavor multi-thread --workers 2";
        let run = benchmark.run(flags).flags("--format json").finish();
        let record = run.expect_quiet_success().record();
        let workers = record.workers.unwrap();
        assert_eq!(workers.each.len(), 2);
        // One of them at least had the tasks.
        let busiest = workers.shares().fold(0.0, f64::max);
        assert!(busiest > 0.0, "{workers:?}");
        let samples = record.samples.unwrap();
        assert!(workers.elapsed as f64 >= samples.mean * samples.count as f64);

        let run = benchmark.run(flags).finish().expect_quiet_success();
        let line = run
            .stdout
            .lines()
            .find(|line| line.starts_with("  workers "));
        let line = line.unwrap_or_else(|| panic!("{run}"));
        for words in [" 2: ", " % and ", " % busy, ", " parks per hop"] {
            assert!(line.contains(words), "{line}");
        }
    }
}

#[test]
fn where_one_thread_runs_all_tasks_there_are_no_workers() {
    for benchmark in with("--flavor").filter(|benchmark| benchmark.has("--tokens")) {
        let record = record(benchmark, "--flavor current-thread");
        assert_eq!(record.workers, None);
        let run = benchmark.tiny("--flavor current-thread").finish();
        assert!(!run.stdout.contains("workers"), "{run}");
    }
}
