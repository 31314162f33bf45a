//! Memory, address space, and counts beyond any machine.

use serde_json::Value;

use crate::support::benchmarks::all;

#[test]
fn four_billion_tasks_are_refused() {
    for benchmark in all() {
        let run = benchmark.run("--tasks 4000000000").finish();
        run.expect_refusal(
            1,
            &["4000000000 tasks are more", "at most", "lower --tasks"],
        );
        let run = benchmark.run("--tasks 4294967295 --format json").finish();
        let record = run.expect(1).record();
        assert!(record.error.is_some() && record.samples.is_none());
    }
}

#[test]
fn as_many_iterations_as_there_are_numbers_are_no_reason_to_fail() {
    for benchmark in all() {
        let flags = "--tasks 1 --iters 18446744073709551615 --warmups 18446744073709551615";
        let run = benchmark.run(flags).flags("--check-limits").finish();
        run.expect_quiet_success();
    }
}

#[test]
fn too_little_address_space_is_told() {
    for benchmark in all() {
        let (script, _) = benchmark.in_space(40_000);
        let run = benchmark
            .within(&script, "--tasks 500 --iters 2 --warmups 0")
            .finish();
        match run.code {
            0 => assert!(!benchmark.has_threads(), "500 stacks in 40 MB: {run}"),
            _ => {
                let words = ["virtual memory", "ulimit -v", "prlimit --pid"];
                run.expect_refusal(1, &words);
            }
        }
    }
}

/// What the check lets pass must not fail, let alone crash, where memory is scarce.
#[test]
fn what_is_said_to_fit_the_address_space_does() {
    for benchmark in all() {
        let (script, _) = benchmark.in_space(400_000);
        let within = |flags: &str| {
            benchmark
                .within(&script, "--iters 2 --warmups 0")
                .flags(flags)
                .finish()
        };
        let checked = within("--tasks 1 --check-limits --format json");
        let answer: Value = serde_json::from_str(checked.line()).unwrap();
        let largest = answer["largest"].as_u64().unwrap();
        if largest > 0 {
            let run = within(&format!("--tasks {}", largest.min(1000)));
            // How much a runtime of Go reserves as it starts varies: the check may then refuse what it let
            // pass before. It may not let pass what fails.
            match run.code {
                0 => drop(run.expect_quiet_success()),
                _ => drop(run.expect_refusal(1, &["virtual memory", "needs"])),
            }
        } else {
            within("--tasks 1").expect_refusal(1, &["virtual memory"]);
        }
    }
}

#[test]
fn what_tasks_touch_and_read_into_counts() {
    for benchmark in all() {
        for (flag, value) in [
            ("--touch", "1TiB"),
            ("--read-buffer", "1MiB"),
            ("--bytes", "512MiB"),
        ] {
            if !benchmark.has(flag) {
                continue;
            }
            let (script, kib) = benchmark.in_space(400_000);
            let size = format!("--tasks {} --iters 2 --warmups 0", kib * 600 / 400_000);
            let run = benchmark.within(&script, &size);
            let mut run = run.arg(flag).arg(value);
            if flag == "--read-buffer" && benchmark.has("--nonblocking") {
                run = run.flags("--nonblocking");
            }
            run.finish().expect_refusal(1, &["virtual memory"]);
        }
    }
}
