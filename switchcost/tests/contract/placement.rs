//! Where a program runs: `taskset`, `--cpus`, `--placement`.

use std::fs;

use crate::support::benchmarks::all;
use crate::support::process::Run;
use crate::support::{cpus, is_installed, skip};

/// The first CPU that this process may use, by its number.
fn first_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
    let first = line.unwrap().trim().split([',', '-']).next();
    first.unwrap().to_owned()
}

#[test]
fn taskset_confines_it() {
    if !is_installed("taskset") {
        return skip("no taskset");
    }
    let cpu = first_cpu();
    for benchmark in all() {
        let run = |flags: &str| {
            let run = Run::of("taskset").arg("-c").arg(&cpu).arg(&benchmark.path);
            run.flags("--tasks 3 --iters 4 --warmups 1 --format json")
                .flags(flags)
                .flags(benchmark.light())
        };
        let record = run("").finish().expect_quiet_success().record();
        assert_eq!(record.machine.affinity.as_deref(), Some(cpu.as_str()));
        // Where strategies are compared they have the same threads on every machine.
        if let Some(runtime) = record.runtime.filter(|_| !benchmark.has("--strategy")) {
            assert_eq!(runtime.workers, 1, "one worker for one CPU");
        }
        for placement in ["half", "spread"] {
            let refused = run("--placement").flags(placement).finish();
            refused.expect_refusal(2, &["--placement"]);
        }
    }
}

#[test]
fn one_cpu_is_one_cpu() {
    let cpu = first_cpu();
    for benchmark in all() {
        for flags in [format!("--cpus {cpu}"), "--placement one-cpu".to_owned()] {
            let command = "grep Cpus_allowed_list: /proc/{pid}/task/*/status";
            let run = benchmark
                .tiny("-q")
                .flags(&flags)
                .arg("--command")
                .arg(command);
            let run = run.finish().expect_quiet_success();
            for line in run.stdout.lines() {
                let (_, cpus) = line.rsplit_once(|c: char| c.is_whitespace()).unwrap();
                assert_eq!(cpus, cpu, "{flags}: {run}");
            }
        }
    }
}

#[test]
fn every_placement_works_or_is_refused() {
    if cpus() < 2 {
        return skip("placements need 2 CPUs");
    }
    for benchmark in all() {
        for placement in &benchmark.flags["--placement"] {
            let run = benchmark
                .tiny("--format json --placement")
                .arg(placement)
                .finish();
            if run.code == 2 {
                assert!(["half", "spread"].contains(&placement.as_str()), "{run}");
                run.expect_refusal(2, &["--placement"]);
            } else {
                let record = run.expect_quiet_success().record();
                assert_eq!(record.params["placement"], placement.as_str());
            }
        }
    }
}
