//! `--format json`: one line, a record whose figures agree with each other.

use harness::record::{Record, SCHEMA};
use harness::recorder::Summary;
use serde_json::Value;

use crate::support::benchmarks::{Benchmark, all, with};

/// What is measured beside the iterations, and has a number of its own.
const BESIDE: [&str; 5] = [
    "batch_beside",
    "echo",
    "echo_idle",
    "heartbeat",
    "heartbeat_idle",
];

fn tiny(benchmark: &Benchmark, flags: &str) -> Record {
    let run = benchmark.tiny("--format json").flags(flags).finish();
    run.expect_quiet_success().record()
}

#[test]
fn it_says_what_was_run() {
    for benchmark in all() {
        let record = tiny(benchmark, "");
        assert_eq!(record.schema, SCHEMA);
        assert_eq!(record.benchmark, benchmark.name);
        assert_eq!(record.plan, None, "only the runner has a plan");
        assert_eq!(record.command_line[0], benchmark.path.to_str().unwrap());
        assert_eq!(&record.command_line[1..3], ["--tasks", "3"]);
        assert!(
            record.started > 1_700_000_000_000,
            "ms since 1970: {}",
            record.started
        );
        assert_eq!(
            record.build.package_version.as_deref(),
            Some(env!("CARGO_PKG_VERSION"))
        );
        if benchmark.has("--flavor") {
            let runtime = record.runtime.unwrap();
            assert_eq!(Value::from(runtime.flavor), record.params["flavor"]);
            assert!(runtime.workers >= 1);
        }
    }
}

#[test]
fn it_holds_every_flag() {
    for benchmark in all() {
        let record = tiny(benchmark, "");
        let flags = benchmark.flags.keys();
        let flags: Vec<String> = flags.map(|flag| flag[2..].replace('-', "_")).collect();
        // Flags for tests are in no help, but a record that they have doctored must show it.
        let shown = |name: &&String| !name.starts_with("test_");
        let params: Vec<&String> = record.params.keys().filter(shown).collect();
        assert!(
            flags.iter().eq(params.iter().copied()),
            "{flags:?} {params:?}"
        );
        assert_eq!(record.tasks(), Some(3));
        assert_eq!(
            [record.param("iters"), record.param("warmups")],
            [Some(4), Some(1)]
        );
        assert_eq!(record.params["format"], "json");
        assert_eq!(record.params["cpus"], Value::Null);
    }
}

#[test]
fn its_samples_agree_with_each_other() {
    for benchmark in all() {
        let record = tiny(benchmark, "");
        let samples = record.samples.as_ref().unwrap();
        assert_eq!(samples.count, 4);
        agree(samples);
        for (name, summary) in &record.distributions {
            if !BESIDE.contains(&name.as_str()) {
                assert_eq!(summary.count, 4 * 3, "one for each task of each iteration");
            }
            agree(summary);
        }
        assert!(samples.mean > 0.0);
        assert!(!record.partial && record.error.is_none());
    }
}

fn agree(s: &Summary) {
    let order = [s.min, s.p50, s.p90, s.p99, s.p999, s.max];
    assert!(order.is_sorted(), "{s:?}");
    assert!(s.min as f64 <= s.mean && s.mean <= s.max as f64, "{s:?}");
    assert!(
        s.stddev >= 0.0 && s.stddev <= (s.max - s.min) as f64,
        "{s:?}"
    );
    assert_eq!(s.series.sums.len() as u64, s.count.div_ceil(s.series.batch));
    let sum: u64 = s.series.sums.iter().sum();
    let total = s.mean * s.count as f64;
    assert!(
        (sum as f64 - total).abs() <= 1e-9 * total,
        "{sum} is not {total}"
    );
}

#[test]
fn long_series_are_in_batches_that_add_up() {
    for benchmark in all() {
        let run = benchmark.run("--tasks 1 --iters 10050 --warmups 0 --format json");
        let record = run.finish().expect_quiet_success().record();
        let samples = record.samples.unwrap();
        assert_eq!((samples.count, samples.series.batch), (10_050, 101));
        agree(&samples);
    }
}

#[test]
fn hops_and_tasks_divide_the_mean() {
    for benchmark in all() {
        let record = tiny(benchmark, "");
        divides(&record, 1);
        assert_eq!(record.hops.is_some(), benchmark.has("--tokens"));
    }
    for benchmark in with("--tokens") {
        divides(&tiny(benchmark, "--tokens 3"), 3);
    }
}

fn divides(record: &Record, tokens: u64) {
    let mean = record.samples.as_ref().unwrap().mean;
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
    assert!(close(record.per_task.unwrap(), mean / (3 * tokens) as f64));
    let Some(hops) = record.hops else {
        assert_eq!(record.per_hop, None);
        return;
    };
    assert_eq!(hops, (3 + 1) * tokens);
    assert!(close(record.per_hop.unwrap(), mean / hops as f64));
}

#[test]
fn it_has_what_the_run_used() {
    for benchmark in all() {
        let record = tiny(benchmark, "");
        assert!(record.usage.is_some() && record.interference.is_some());
        let memory = record.memory.unwrap();
        let at_rest = memory.at_rest.unwrap();
        assert!(memory.before.resident.is_some_and(|bytes| bytes > 0));
        assert!(at_rest.resident.is_some_and(|bytes| bytes > 0));
        assert!(record.setup.is_some() && record.teardown.is_some());
        assert_eq!(record.counters, None, "nobody has asked for them");
    }
}

#[test]
fn every_iteration_of_a_brigade_of_threads_switches() {
    for benchmark in with("--tokens").filter(|benchmark| benchmark.has_threads()) {
        let usage = tiny(benchmark, "--placement one-cpu").usage.unwrap();
        assert!(usage.voluntary_switches >= 4, "{usage:?}");
    }
}

/// The driver alone would make a fourth of them.
#[test]
fn the_switches_of_every_process_are_counted() {
    for benchmark in all().iter().filter(|benchmark| benchmark.has_processes()) {
        let flags = "--iters 200 --placement one-cpu --format json";
        let run = benchmark.run("--tasks 3 --warmups 1").flags(flags).finish();
        let record = run.expect_quiet_success().record();
        let usage = record.usage.unwrap();
        let all = usage.voluntary_switches + usage.involuntary_switches;
        assert!(all >= 3 * 200, "4 hops, and a switch in each: {usage:?}");
        assert!(usage.user + usage.system > 0, "{usage:?}");
    }
}

#[test]
fn the_memory_of_every_process_is_counted() {
    for benchmark in all().iter().filter(|benchmark| benchmark.has_processes()) {
        let gain = |flags: &str| {
            let run = benchmark.run("--iters 2 --warmups 1 --format json");
            let record = run.flags(flags).finish().expect_quiet_success().record();
            record.resident_gain().unwrap()
        };
        let touched = 20 * (1 << 20);
        let least = gain("--tasks 20");
        assert!(gain("--tasks 20 --touch 1MiB") >= least + touched);
        assert!(least > 20 * 4096, "a page of each at least: {least}");
    }
}

#[test]
fn it_loses_nothing_when_it_is_read_and_written_again() {
    for benchmark in all() {
        // Enough distributions for the last digits of some figure to matter.
        for _ in 0..3 {
            let run = benchmark.tiny("--format json").finish();
            let record = run.record();
            assert_eq!(serde_json::to_string(&record).unwrap(), run.line());
        }
    }
}
