//! `--raise-limits`. Kernel parameters are the whole system's, so they are raised only where a
//! namespace has its own: kernel.pid_max, since Linux 6.14.

use std::fs;

use nix::unistd::Uid;

use crate::support::benchmarks::{all, with};
use crate::support::{is_installed, skip};

#[test]
fn limits_of_the_process_are_raised_up_to_the_hard_ones() {
    let threaded = all().iter().filter(|benchmark| benchmark.has_threads());
    for benchmark in threaded {
        let script = r#"ulimit -S -v 400000 && exec "$0" "$@""#;
        let flags = "--tasks 600 --iters 1 --warmups 0";
        let refused = benchmark.within(script, flags).finish();
        refused.expect_refusal(1, &["virtual memory"]);
        let run = benchmark.within(script, flags).flags("--raise-limits");
        let run = run.finish().expect(0);
        run.expect_complaint(&["raised virtual memory (ulimit -v) from 409600000 to"]);
    }
}

#[test]
fn what_may_not_be_raised_is_said_with_the_reason() {
    for benchmark in all().iter().filter(|benchmark| benchmark.has_descriptors()) {
        // Above fs.nr_open, which no kernel lets a process pass, and beyond any memory.
        let run = benchmark.run("--tasks 4000000000 --raise-limits").finish();
        run.expect_refusal(
            1,
            &[
                "not raised: open files",
                "not raised: MemAvailable",
                "lower --tasks",
            ],
        );
    }
}

#[test]
fn where_nothing_is_too_low_nothing_is_raised() {
    for benchmark in with("--raise-limits") {
        let run = benchmark.tiny("--raise-limits --format json").finish();
        let record = run.expect(0).record();
        assert_eq!(record.params["raise_limits"], true);
        let record = benchmark.tiny("--format json").finish().record();
        assert_eq!(record.params["raise_limits"], false);
        let run = benchmark.tiny("--raise-limits --check-limits").finish();
        assert!(run.expect_quiet_success().stdout.contains("allows at most"));
    }
    assert_eq!(with("--raise-limits").count(), all().len());
}

/// Whether a pid namespace has a kernel.pid_max of its own here.
fn has_own_pid_max() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 14)
}

#[test]
fn kernel_parameters_are_put_back_however_the_run_ends() {
    if !Uid::effective().is_root() || !is_installed("unshare") || !is_installed("mount") {
        return skip("only root can make a namespace with kernel parameters of its own");
    }
    if !has_own_pid_max() {
        return skip("before Linux 6.14 kernel.pid_max is the whole system's");
    }
    let outside = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    for benchmark in all().iter().filter(|benchmark| benchmark.has_threads()) {
        for (flags, code) in [
            ("--iters 1", 0),
            ("--iters 1 --command false", 1),
            ("--iters 18446744073709551615", 130),
        ] {
            // Its own /run, so that no other run is waited for.
            let script = "exec unshare --mount --pid --fork --mount-proc sh -c '\
                mount -t tmpfs none /run || exit 77; \
                all=$(cut -d/ -f2 /proc/loadavg | cut -d\" \" -f1); \
                echo $((all + 400)) >/proc/sys/kernel/pid_max || exit 77; \
                before=$(cat /proc/sys/kernel/pid_max); \
                \"$0\" \"$@\" & \
                case \"$*\" in *18446744073709551615*) \
                    until test -s /run/switchcost/ledger || ! kill -0 $!; do sleep 0.05; done; sleep 0.3; \
                    kill -INT $!;; esac; \
                wait $!; code=$?; \
                echo pid_max $before $(cat /proc/sys/kernel/pid_max) >&2; exit $code' \"$0\" \"$@\"";
            let run = benchmark.within(script, "--tasks 400 --warmups 0 --raise-limits --quiet");
            let run = run.flags(flags).finish();
            if run.code == 77 || run.stderr.contains("unshare:") {
                return skip("no namespace can be made, or nothing be mounted in it");
            }
            let run = run.expect(code).expect_complaint(&[
                "raised kernel.pid_max from",
                "for the whole system, until this run ends",
                "put back /proc/sys/kernel/pid_max to",
            ]);
            let values = run
                .stderr
                .lines()
                .find_map(|line| line.strip_prefix("pid_max "));
            let (before, after) = values.unwrap().split_once(' ').unwrap();
            assert_eq!(before, after, "{run}");
        }
    }
    assert_eq!(
        fs::read_to_string("/proc/sys/kernel/pid_max").unwrap(),
        outside
    );
}
