//! Every value that `--help` lists, and the ends of the ranges of numbers.

use harness::record::Record;

use crate::support::benchmarks::{Benchmark, all, with};
use crate::support::number_after;
use crate::support::process::Run;

fn record(benchmark: &Benchmark, flags: &str) -> Record {
    let run = benchmark.tiny("--format json").flags(flags).finish();
    let record = run.expect_quiet_success().record();
    assert_eq!(
        record.samples.as_ref().map(|samples| samples.count),
        Some(4)
    );
    record
}

#[test]
fn every_listed_value_runs() {
    for benchmark in all() {
        for (flag, values) in &benchmark.flags {
            // These two have tests of their own.
            if ["--format", "--placement"].contains(&flag.as_str()) {
                continue;
            }
            for value in values {
                let record = record(benchmark, &benchmark.choice(flag, value));
                assert_eq!(record.params[&flag[2..]], value.as_str());
            }
        }
    }
}

#[test]
fn every_switch_runs() {
    for benchmark in all() {
        if benchmark.has("--nonblocking") {
            for transport in &benchmark.flags["--transport"] {
                record(
                    benchmark,
                    &format!("--nonblocking --tokens 2 --transport {transport}"),
                );
            }
        }
    }
}

#[test]
fn workers_are_as_many_as_asked_for() {
    for benchmark in with("--workers") {
        for workers in [1, 3] {
            let flags = format!("--flavor multi-thread --workers {workers}");
            let runtime = record(benchmark, &flags).runtime.unwrap();
            assert_eq!(
                (runtime.workers, runtime.flavor.as_str()),
                (workers, "multi-thread")
            );
        }
        let runtime = record(benchmark, "--flavor current-thread")
            .runtime
            .unwrap();
        assert_eq!(
            (runtime.workers, runtime.flavor.as_str()),
            (1, "current-thread")
        );
    }
}

#[test]
fn stacks_are_as_large_as_asked_for() {
    for benchmark in with("--stack-size") {
        for (size, bytes) in [
            ("16KiB", 16384),
            ("64k", 65536),
            ("17000", 17000),
            ("2MiB", 2 << 20),
        ] {
            for stacks in &benchmark.flags["--stacks"] {
                let flags = format!("--stack-size {size} --stacks {stacks}");
                let record = record(benchmark, &flags);
                assert_eq!(record.param("stack_size"), Some(bytes));
            }
        }
    }
}

#[test]
fn channels_hold_as_much_as_asked_for() {
    for benchmark in with("--capacity") {
        // 4 channels.
        let record = record(benchmark, "--capacity 5 --tokens 20");
        assert_eq!(record.hops, Some(4 * 20));
        let refused = benchmark.tiny("--capacity 5 --tokens 21").finish();
        refused.expect_refusal(2, &["--tokens", "at most 20", "--capacity"]);
    }
}

/// N tasks have N + 1 links between them.
#[test]
fn a_link_in_memory_holds_one_token() {
    for benchmark in with("--transport").filter(|benchmark| !benchmark.has_pipes()) {
        for transport in benchmark.transports_on_executors() {
            let flags = format!("--tokens 4 {transport}");
            assert_eq!(record(benchmark, &flags).hops, Some(4 * 4));
        }
        let refused = benchmark.tiny("--tokens 5").finish();
        refused.expect_refusal(2, &["--tokens 5", "at most 4", "--tasks"]);
    }
}

/// Whether these are links without a bound.
fn holds_any_number(flags: &str) -> bool {
    ["oneshot", "unbounded"].iter().any(|t| flags.contains(t))
}

#[test]
fn links_without_a_bound_hold_what_the_memory_holds() {
    for benchmark in with("--tokens") {
        for variant in benchmark.transports_on_executors() {
            if !holds_any_number(&variant) {
                continue;
            }
            let many = record(benchmark, &format!("{variant} --tokens 20000"));
            assert_eq!(many.hops, Some(4 * 20000));
            let script = r#"ulimit -v 8000000; exec "$0" "$@""#;
            let flags = format!("--tasks 2 --iters 1 --tokens 4000000000 {variant}");
            let refused = benchmark.within(script, &flags).finish();
            refused.expect_refusal(1, &["--tokens", "ulimit -v"]);
        }
    }
}

/// The driver sends all tokens before it takes one back: where they find no room it would wait
/// for ever. What a program says to be possible must be so.
#[test]
fn as_many_tokens_as_the_links_hold_run() {
    let few = |benchmark: &Benchmark, flags: &str| -> Run {
        benchmark
            .run("--tasks 2 --iters 2 --warmups 0")
            .flags(flags)
    };
    for benchmark in with("--tokens") {
        let bounded = |variant: &String| !holds_any_number(variant);
        for variant in benchmark.transports().iter().filter(|v| bounded(v)) {
            let refused = few(benchmark, variant)
                .flags("--tokens 4000000000")
                .finish();
            let refused = refused.expect_refusal(2, &["--tokens", "at most"]);
            let most = number_after(&refused.stderr, "at most").unwrap();
            let run = few(benchmark, variant).flags(&format!("--tokens {most}"));
            run.finish().expect_quiet_success();
            let run = few(benchmark, variant).flags(&format!("--tokens {}", most + 1));
            run.finish().expect_refusal(2, &["--tokens"]);
        }
    }
}

/// Tokens take memory: more than there is must be refused, not tried.
#[test]
fn more_tokens_than_the_memory_holds_are_refused() {
    for benchmark in with("--capacity") {
        let script = r#"ulimit -v 8000000; exec "$0" "$@""#;
        let flags = "--tasks 20 --iters 1 --warmups 0 --capacity 268435456 --tokens 4000000000";
        let run = benchmark.within(script, flags).finish();
        assert!([1, 2].contains(&run.code), "{run}");
    }
}
