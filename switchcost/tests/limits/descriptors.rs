//! Open files.

use crate::support::benchmarks::{Benchmark, all};
use crate::support::process::Outcome;
use crate::support::{number_after, skip};

/// So few that most machines' shells still start.
const FEW: &str = r#"ulimit -n 64 && exec "$0" "$@""#;

fn with_few(benchmark: &Benchmark, flags: &str) -> Outcome {
    benchmark
        .within(FEW, "--iters 2 --warmups 0")
        .flags(flags)
        .finish()
}

#[test]
fn too_few_are_told_before_anything_is_built() {
    for benchmark in all() {
        let run = with_few(benchmark, "--tasks 500");
        if benchmark.has_bodies() {
            let words = ["open files", "allows 64", "prlimit --pid", "--tasks"];
            let run = run.expect_refusal(1, &words);
            let needed = number_after(&run.stderr, "needs").unwrap();
            assert!(
                (501..600).contains(&needed),
                "one for each connection: {run}"
            );
            continue;
        }
        if !benchmark.has_descriptors() {
            run.expect_quiet_success();
            continue;
        }
        let run = run.expect_refusal(1, &["open files", "allows 64", "prlimit --pid", "--tasks"]);
        let needed = number_after(&run.stderr, "needs").unwrap();
        assert!(needed > 2 * 500, "two for each link: {run}");
    }
}

#[test]
fn the_largest_number_that_is_named_runs_and_one_more_does_not() {
    for benchmark in all().iter().filter(|benchmark| benchmark.has_descriptors()) {
        let refused = with_few(benchmark, "--tasks 500");
        let largest = number_after(&refused.stderr, "lower --tasks to").unwrap();
        assert!(largest > 0, "{refused}");
        with_few(benchmark, &format!("--tasks {largest}")).expect_quiet_success();
        let refused = with_few(benchmark, &format!("--tasks {}", largest + 1));
        refused.expect_refusal(1, &["open files"]);
    }
}

#[test]
fn an_eventfd_is_one_for_both_ends() {
    for benchmark in all()
        .iter()
        .filter(|benchmark| benchmark.takes("--transport", "eventfd"))
    {
        let flags = "--transport eventfd --tasks";
        let refused = with_few(benchmark, &format!("{flags} 500"));
        let refused = refused.expect_refusal(1, &["open files", "allows 64"]);
        let needed = number_after(&refused.stderr, "needs").unwrap();
        assert!((501..2 * 500).contains(&needed), "{refused}");
        let largest = number_after(&refused.stderr, "lower --tasks to").unwrap();
        with_few(benchmark, &format!("{flags} {largest}")).expect_quiet_success();
        let refused = with_few(benchmark, &format!("{flags} {}", largest + 1));
        refused.expect_refusal(1, &["open files"]);
        // As many tasks as two each would not leave room for.
        assert!(largest > 64 / 2, "{}: {largest}", benchmark.name);
    }
}

#[test]
fn as_json_the_reason_is_in_the_record() {
    for benchmark in all().iter().filter(|benchmark| benchmark.has_descriptors()) {
        let run = with_few(benchmark, "--tasks 500 --format json").expect(1);
        let record = run.expect_complaint(&["open files"]).record();
        assert!(record.error.is_some_and(|e| e.contains("open files")));
        assert!(record.samples.is_none() && record.usage.is_none());
        assert!(record.partial, "nothing was timed");
    }
}

#[test]
fn a_soft_limit_is_raised_without_a_word() {
    let script = r#"ulimit -S -n 64 && exec "$0" "$@""#;
    for benchmark in all() {
        let run = benchmark
            .within(script, "--tasks 200 --iters 2 --warmups 0")
            .finish();
        if run.stderr.contains("hard limit") {
            return skip("the hard limit of open files is too low for 200 tasks");
        }
        run.expect_quiet_success();
    }
}

/// The limit of what is open already: no descriptor is left for /proc.
#[test]
fn hardly_any_descriptors_are_an_error_too() {
    for benchmark in all() {
        let script = r#"ulimit -n 4 && exec "$0" "$@""#;
        let run = benchmark
            .within(script, "--tasks 50 --iters 2 --warmups 0")
            .finish();
        if run.code != 0 {
            // The loader itself may find no descriptor for a library.
            assert!(
                [1, 127].contains(&run.code) && !run.stderr.is_empty(),
                "{run}"
            );
        }
    }
}
