//! `--check-limits`: the answer alone, for people, for a shell, and as JSON.

use serde_json::Value;

use crate::support::benchmarks::all;
use crate::support::number_after;

const FEW: &str = r#"ulimit -n 64 && exec "$0" "$@""#;

#[test]
fn what_fits_is_a_line_and_success() {
    for benchmark in all() {
        let run = benchmark
            .run("--tasks 3 --check-limits")
            .finish()
            .expect_quiet_success();
        let expected = format!("# {} with 3 tasks: ", benchmark.name);
        assert!(run.line().starts_with(&expected), "{run}");
        assert!(number_after(&run.stdout, "at most").unwrap() >= 3, "{run}");
    }
}

#[test]
fn what_does_not_fit_is_failure_with_text_that_a_shell_takes() {
    for benchmark in all() {
        let run = benchmark
            .run("--tasks 4000000000 --check-limits")
            .finish()
            .expect(1);
        assert!(
            run.stdout.lines().count() > 1 && run.stderr.is_empty(),
            "{run}"
        );
        let syntax = crate::support::process::Run::of("sh")
            .arg("-n")
            .input(&run.stdout);
        syntax.finish().expect_quiet_success();
    }
}

#[test]
fn what_can_be_raised_comes_with_a_command() {
    for benchmark in all().iter().filter(|benchmark| benchmark.has_descriptors()) {
        let run = benchmark
            .within(FEW, "--tasks 500 --check-limits")
            .finish()
            .expect(1);
        let mut commands = run.stdout.lines().filter(|line| !line.starts_with('#'));
        let raises = |line: &str| line.contains("prlimit --pid $$ --nofile=");
        assert!(commands.any(raises), "{run}");
    }
}

#[test]
fn json_is_one_object() {
    for benchmark in all() {
        for (tasks, code) in [(3, 0), (4_000_000_000_u64, 1)] {
            let run = benchmark.run("--check-limits --format json");
            let run = run.flags(&format!("--tasks {tasks}")).finish().expect(code);
            let answer: Value = serde_json::from_str(run.line()).unwrap();
            assert_eq!(answer["benchmark"], benchmark.name.as_str());
            assert_eq!(answer["tasks"], tasks);
            let largest = answer["largest"].as_u64().unwrap();
            assert_eq!(largest >= tasks, code == 0, "{run}");
            let demand = &answer["demand"];
            let each = demand["per_task"]["memory"].as_u64().unwrap();
            assert!(each > 0 && demand["fixed"].is_object(), "{run}");
            let shortages = answer["shortages"].as_array().unwrap();
            assert_eq!(shortages.is_empty(), code == 0, "{run}");
            for shortage in shortages {
                let amount = |name: &str| shortage[name].as_u64().unwrap();
                assert!(amount("needed") > amount("allowed"), "{shortage}");
                assert!(shortage["remedy"].is_string() && shortage["source"].is_string());
            }
        }
    }
}
