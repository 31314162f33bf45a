//! The command line: help, and what is told of one that cannot be followed.

use crate::support::benchmarks::{self, all};

const COMMON: [&str; 10] = [
    "--tasks",
    "--iters",
    "--warmups",
    "--quiet",
    "--format",
    "--command",
    "--check-limits",
    "--cpus",
    "--placement",
    "--policy",
];

#[test]
fn help_names_the_common_flags() {
    for benchmark in all() {
        let help = benchmark.run("--help").finish().expect_quiet_success();
        for flag in COMMON {
            assert!(benchmark.has(flag), "{flag} is missing: {help}");
        }
        assert_eq!(benchmark.flags["--format"], ["text", "json"]);
    }
}

#[test]
fn short_help_and_version_are_on_standard_output() {
    for benchmark in all() {
        let help = benchmark.run("-h").finish().expect_quiet_success();
        assert!(help.stdout.contains("Usage: "), "{help}");
        let version = benchmark.run("--version").finish().expect_quiet_success();
        let expected = format!("{} {}", benchmark.name, env!("CARGO_PKG_VERSION"));
        assert_eq!(version.line(), expected);
    }
}

#[test]
fn what_cannot_be_followed_is_refused_by_its_flag() {
    for benchmark in all() {
        for flags in [
            "--nonsense",
            "--tasks 0",
            "--tasks -1",
            "--tasks 99999999999999999999",
            "--iters 0",
            "--iters abc",
            "--warmups -1",
            "--format xml",
            "--cpus 9999",
            "--cpus 3-1",
            "--cpus",
            "--placement nowhere",
            "--policy rr",
        ] {
            let flag = flags.split(' ').next().unwrap();
            let refused = benchmark.run(flags).finish();
            refused.expect_refusal(2, &[flag]);
        }
        let stray = benchmark.tiny("stray").finish();
        stray.expect_refusal(2, &["stray"]);
    }
}

#[test]
fn the_original_word_for_tasks_is_taken() {
    for benchmark in benchmarks::with("--tokens") {
        let run = benchmark.run("--threads 2 --iters 1 --warmups 0 --format json");
        assert_eq!(
            run.finish().expect_quiet_success().record().tasks(),
            Some(2)
        );
    }
}

#[test]
fn flags_of_some_programs_are_refused_where_they_mean_nothing() {
    for (flag, flags) in [
        ("--tokens", "--tokens 0"),
        ("--capacity", "--capacity 0"),
        ("--transport", "--transport pigeon"),
        ("--flavor", "--flavor vanilla"),
        ("--workers", "--workers 0"),
        ("--workers", "--flavor current-thread --workers 2"),
        ("--stack-size", "--stack-size 1"),
        ("--stack-size", "--stack-size 1Q"),
        ("--stack-size", "--stack-size 1000TiB"),
        ("--stacks", "--stacks heap"),
        ("--touch", "--touch -1"),
        ("--touch", "--touch 1Q"),
        ("--touch", "--touch 65TiB"),
        ("--shuffle", "--shuffle again"),
        ("--shuffle", "--shuffle -1"),
        ("--bytes", "--bytes 0"),
        ("--bytes", "--bytes -1"),
        ("--bytes", "--bytes 1.5k"),
        ("--bytes", "--bytes 1Q"),
        ("--bytes", "--bytes 1073741825"),
        ("--read-buffer", "--read-buffer -1"),
        ("--read-buffer", "--read-buffer 0"),
        ("--read-buffer", "--read-buffer 2MiB"),
    ] {
        for benchmark in benchmarks::with(flag) {
            benchmark.tiny(flags).finish().expect_refusal(2, &[flag]);
        }
    }
}
