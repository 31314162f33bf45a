//! One CPU.

use super::{Installed, TINY};
use crate::support::benchmarks::all;
use crate::support::process::Run;
use crate::support::{is_installed, skip};

const ON_ONE: &str =
    r#"exec taskset -c "$(taskset -cp $$ | sed "s/.*: *\([0-9]*\).*/\1/")" "$0" "$@""#;

#[test]
fn every_program_measures_and_refuses_what_needs_two() {
    if !is_installed("taskset") {
        return skip("no taskset");
    }
    for benchmark in all() {
        let record = benchmark.within(ON_ONE, TINY).finish();
        let record = record.expect_quiet_success().record();
        assert_eq!(record.samples.unwrap().count, 4, "{}", benchmark.name);
        for placement in ["half", "spread"] {
            let flags = format!("{TINY} --placement {placement}");
            let run = benchmark.within(ON_ONE, &flags).finish();
            run.expect_refusal(2, &["--placement", "one-cpu"]);
        }
    }
}

#[test]
fn the_runner_makes_its_default_plan() {
    if !is_installed("taskset") {
        return skip("no taskset");
    }
    let installed = Installed::new();
    let run = Run::within(ON_ONE, &installed.path("switchcost"))
        .flags("--quick --rounds 1 --filter switch --budget 0s --out /dev/null")
        .folder(installed.folder.path())
        .finish();
    let run = run.expect(0);
    assert!(!run.stdout.contains("failed"), "{run}");
    assert!(run.stdout.contains("one CPU"), "{run}");
}
