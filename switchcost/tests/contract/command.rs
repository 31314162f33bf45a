//! `--command`: run while every task is alive.

use crate::support::benchmarks::{Benchmark, all};
use crate::support::process::Run;

fn with_command(benchmark: &Benchmark, flags: &str, command: &str) -> Run {
    benchmark.tiny(flags).arg("--command").arg(command)
}

#[test]
fn its_output_is_all_that_a_quiet_run_prints() {
    for benchmark in all() {
        let run = with_command(benchmark, "--quiet", "echo hello {pid} {pid}").finish();
        let run = run.expect_quiet_success();
        let words: Vec<&str> = run.line().split(' ').collect();
        assert_eq!((words.len(), words[0]), (3, "hello"), "{run}");
        assert!(
            words[1].parse::<u32>().is_ok() && words[1] == words[2],
            "{run}"
        );
    }
}

#[test]
fn it_sees_every_task_alive() {
    for benchmark in all() {
        let command = "ls /proc/{pid}/task | wc -l; ls /proc/{pid}/fd | wc -l";
        let run = with_command(benchmark, "-q", command)
            .finish()
            .expect_quiet_success();
        let seen: Vec<u32> = run
            .stdout
            .lines()
            .map(|n| n.trim().parse().unwrap())
            .collect();
        let threads = if benchmark.has_threads() { 3 + 1 } else { 1 };
        assert!(seen[0] >= threads, "{run}");
        if benchmark.has_descriptors() {
            assert!(seen[1] >= 2 * (3 + 1), "the links are open: {run}");
        }
    }
}

#[test]
fn it_sees_every_process_alive_with_two_links_and_nothing_else() {
    for benchmark in all().iter().filter(|benchmark| benchmark.has_processes()) {
        for flags in ["-q", "-q --transport socketpair", "-q --shuffle 7"] {
            let command = r#"for p in $(cat /proc/{pid}/task/{pid}/children); do
                [ $p = $$ ] || ls /proc/$p/fd | wc -l; done"#;
            let run = with_command(benchmark, flags, command).finish();
            let run = run.expect_quiet_success();
            let open: Vec<&str> = run.stdout.lines().map(str::trim).collect();
            assert_eq!(open, ["5"; 3], "standard ones and two: {run}");
        }
    }
}

#[test]
fn it_does_not_inherit_the_links() {
    // The shell's own, and whatever these tests were started with.
    let list = "ls /proc/self/fd | wc -l";
    let number = |run: Run| -> u32 {
        let run = run.finish().expect_quiet_success();
        run.line().trim().parse().unwrap()
    };
    let without = number(Run::of("sh").arg("-c").arg(list));
    for benchmark in all() {
        assert_eq!(number(with_command(benchmark, "-q", list)), without);
    }
}

#[test]
fn its_failure_is_the_programs_but_the_result_is_printed() {
    for benchmark in all() {
        for command in ["exit 3", "kill -9 $$", "/nonexistent/program"] {
            let run = with_command(benchmark, "", command).finish();
            let run = run.expect(1).expect_complaint(&["--command", command]);
            assert!(run.stdout.starts_with("3 tasks, 4 iterations:\n"), "{run}");
        }
        let run = with_command(benchmark, "--format json", "exit 3").finish();
        let record = run.expect(1).record();
        assert!(record.error.is_some_and(|e| e.contains("--command")));
        assert_eq!(record.samples.map(|samples| samples.count), Some(4));
        with_command(benchmark, "--quiet", "exit 3")
            .finish()
            .expect_refusal(1, &["--command"]);
    }
}

#[test]
fn beside_json_its_output_goes_to_standard_error() {
    for benchmark in all() {
        let run = with_command(benchmark, "--format json", "echo hello; echo oops >&2").finish();
        let run = run.expect(0).expect_complaint(&["hello\n", "oops\n"]);
        assert_eq!(run.record().benchmark, benchmark.name);
    }
}
