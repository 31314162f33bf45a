//! What people read.

use crate::support::benchmarks::all;

#[test]
fn a_run_prints_the_original_two_lines_first() {
    for benchmark in all() {
        let run = benchmark.tiny("").finish().expect_quiet_success();
        let mut lines = run.stdout.lines();
        assert_eq!(lines.next(), Some("3 tasks, 4 iterations:"), "{run}");
        let figures = lines.next().and_then(|line| {
            let (mean, rest) = line
                .strip_prefix("mean ")?
                .split_once(" per iteration, stddev ")?;
            let (stddev, rest) = rest.split_once(" (")?;
            Some([mean, stddev, rest.strip_suffix(" per task per iter)")?])
        });
        let figures = figures.unwrap_or_else(|| panic!("not the original's line: {run}"));
        assert!(figures.into_iter().all(is_time), "{figures:?}: {run}");
        let explained = lines.all(|line| line.starts_with("  "));
        assert!(explained, "the rest is indented: {run}");
        assert!(
            !run.stdout.contains("NaN") && !run.stdout.contains("inf"),
            "{run}"
        );
    }
}

#[test]
fn a_single_iteration_of_a_single_task_is_a_run() {
    for benchmark in all() {
        let run = benchmark.run("--tasks 1 --iters 1 --warmups 0").finish();
        let run = run.expect_quiet_success();
        assert!(run.stdout.starts_with("1 tasks, 1 iterations:\n"), "{run}");
        assert!(run.stdout.contains("stddev 0.000ns"), "{run}");
    }
}

#[test]
fn quiet_prints_nothing() {
    for benchmark in all() {
        for flags in ["--quiet", "-q --format json"] {
            let run = benchmark.tiny(flags).finish().expect_quiet_success();
            assert_eq!(run.stdout, "", "{run}");
        }
    }
}

/// A number with three decimals and a unit, as the original prints it.
fn is_time(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    let decimals = digits.split_once('.').map(|(_, decimals)| decimals.len());
    decimals == Some(3)
        && digits.parse::<f64>().is_ok_and(|value| value >= 0.0)
        && ["ns", "µs", "ms", "s"].contains(&&text[digits.len()..])
}
