//! The brigade on io_uring: its executors, the modes of its ring, and what it counts of itself. (As
//! a benchmark program like the others it is in the other tests, with its usual flags.)

use std::thread;
use std::time::Duration;

use harness::record::Record;
use nix::sys::signal::Signal::SIGINT;

use crate::support::benchmarks::{Benchmark, with};
use crate::support::process::Run;
use crate::support::{cpus, number_after};

/// The programs, each with everything that can be combined.
fn variants() -> impl Iterator<Item = (&'static Benchmark, String)> {
    with("--multishot").flat_map(|benchmark| {
        let mut variants = Vec::new();
        for transport in &benchmark.flags["--transport"] {
            for setup in &benchmark.flags["--setup"] {
                let ring = format!("--transport {transport} --setup {setup}");
                variants.push(format!("{ring} --multishot"));
                for executor in &benchmark.flags["--executor"] {
                    variants.push(format!("{ring} --executor {executor}"));
                }
            }
        }
        variants.into_iter().map(move |flags| (benchmark, flags))
    })
}

fn record(run: Run) -> Record {
    let run = run.flags("--format json").finish();
    run.expect_quiet_success().record()
}

#[test]
fn every_executor_runs_in_every_mode() {
    for (benchmark, flags) in variants() {
        for more in ["", "--tokens 7", "--shuffle 5 --touch 100"] {
            let record = record(benchmark.tiny(more).flags(&flags));
            assert_eq!(record.samples.map(|samples| samples.count), Some(4));
        }
    }
}

#[test]
fn the_record_names_the_runtime_with_its_version() {
    for benchmark in with("--multishot") {
        for executor in &benchmark.flags["--executor"] {
            let flags = format!("--executor {executor}");
            let runtime = record(benchmark.tiny(&flags)).runtime.unwrap();
            let name = if executor == "ring" {
                "io-uring"
            } else {
                executor
            };
            assert_eq!(
                (
                    runtime.name.as_str(),
                    runtime.flavor.as_str(),
                    runtime.workers
                ),
                (name, "current-thread", 1)
            );
            let version = runtime.version.unwrap();
            assert_eq!(version.split('.').count(), 3, "{version}");
        }
    }
}

/// One token: whoever holds it enters the kernel once, to write it, and finds the write and the next
/// one's read complete. With many tokens a wait is for many.
#[test]
fn one_token_takes_one_system_call_for_each_hop() {
    for benchmark in with("--multishot") {
        for multishot in ["", "--multishot"] {
            let size = "--tasks 20 --iters 50 --warmups 3";
            let waits = |flags: &str| {
                let record = record(benchmark.run(size).flags(multishot).flags(flags));
                let hops = record.hops.unwrap() * 50;
                let waits = record.waits.unwrap();
                let enters = waits.enters as f64 / hops as f64;
                (enters, waits.completions as f64 / hops as f64)
            };
            let (enters, completions) = waits("--tokens 1");
            assert!((0.99..1.2).contains(&enters), "{enters}");
            assert!((1.99..2.2).contains(&completions), "{completions}");
            let (enters, completions) = waits("--tokens 20");
            assert!((0.04..0.5).contains(&enters), "{enters}");
            assert!((1.99..2.2).contains(&completions), "{completions}");
        }
        let text = benchmark.run("--tasks 20 --iters 50").finish();
        let text = text.expect_quiet_success();
        let line = text.stdout.lines().find(|line| line.contains("waits"));
        let line = line.unwrap_or_else(|| panic!("no line of waits: {text}"));
        assert!(line.contains("io_uring_enter per hop"), "{text}");
        assert_eq!(number_after(line, "waits"), Some(1), "{text}");
    }
}

/// strace counts the same calls from outside.
#[test]
fn it_counts_as_many_system_calls_as_it_makes() {
    if !crate::support::is_installed("strace") {
        return crate::support::skip("no strace");
    }
    for benchmark in with("--multishot") {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let run = Run::of("strace")
            .flags("-f -qq -e trace=io_uring_enter -o")
            .arg(&log)
            .arg(&benchmark.path)
            .flags("--tasks 20 --iters 100 --warmups 0 --format json")
            .finish();
        if run.code != 0 {
            return crate::support::skip("strace may not trace here");
        }
        let record = run.record();
        let log = std::fs::read_to_string(&log).unwrap();
        let calls = log
            .lines()
            .filter(|line| line.contains("io_uring_enter("))
            .count() as u64;
        let counted = record.waits.unwrap().enters;
        // Before and after the laps: a few to start the tasks, and one for each that ends.
        assert!(
            calls >= counted && calls <= counted + 2 * 21,
            "{calls} {counted}"
        );
    }
}

/// Whatever the executor: the task is named with its cause, and nothing hangs.
#[test]
fn a_task_that_ends_in_mid_run_is_told_in_every_mode() {
    for (benchmark, flags) in variants() {
        for (fault, words) in [
            ("fail@1", "fails here, as --test-fault asks"),
            ("panic@0", "ends here, as --test-fault asks (a panic at "),
            ("close@2", "ended after it had passed on 3 tokens: "),
            ("absent@1", "fails here, as --test-fault asks"),
        ] {
            let run = benchmark.run("--tasks 3 --iters 100000 --warmups 0 --test-fault");
            let run = run.arg(fault).flags(&flags).flags("--format json");
            let run = run.start().finish_all().expect(1);
            let task = format!("task {}", &fault[fault.len() - 1..]);
            let run = run.expect_complaint(&[&task, words]);
            let samples = run.record().samples.map(|samples| samples.count);
            let expected = (!fault.starts_with("absent")).then_some(3);
            assert_eq!(samples, expected, "{run}");
        }
    }
}

#[test]
fn a_signal_ends_it_in_every_mode() {
    for (benchmark, flags) in variants() {
        let running = benchmark
            .run("--tasks 5 --iters 4000000000 --warmups 0 --format json")
            .flags(&flags)
            .start();
        running.await_handler(SIGINT);
        thread::sleep(Duration::from_millis(300));
        running.stop_for(Duration::from_millis(20));
        running.signal(SIGINT);
        let record = running.finish_all().expect(130).record();
        assert!(
            record.partial && record.error.is_none(),
            "{flags} {:?}",
            record.error
        );
    }
}

/// Such a thread could run anywhere else.
#[test]
fn the_kernels_thread_stays_on_the_cpus_of_the_program() {
    if cpus() < 2 {
        return crate::support::skip("there is only one CPU");
    }
    for benchmark in with("--multishot") {
        for executor in &benchmark.flags["--executor"] {
            // The thread of a ring that is gone may be about to end.
            let threads =
                "cd /proc/{pid}/task; sleep 0.2; cat */comm; grep -h ^Cpus_allowed_list: */status";
            let run = benchmark
                .tiny("--setup sqpoll --placement one-cpu -q --executor")
                .arg(executor)
                .arg("--command")
                .arg(threads);
            let run = run.finish().expect_quiet_success();
            assert!(run.stdout.contains("iou-sqp"), "{run}");
            let lists = run
                .stdout
                .lines()
                .filter_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            let lists: Vec<&str> = lists.map(str::trim).collect();
            assert_eq!(lists.len(), 2, "{run}");
            assert!(
                lists[0] == lists[1] && lists[0].parse::<u32>().is_ok(),
                "{run}"
            );
        }
    }
}

/// Where it may preempt nobody and be preempted by nobody, it must not keep the only CPU.
#[test]
fn the_kernels_thread_leaves_a_single_cpu_to_the_tasks() {
    for benchmark in with("--multishot") {
        for policy in &benchmark.flags["--policy"] {
            let run = benchmark.tiny("--setup sqpoll --placement one-cpu --policy");
            let run = run.arg(policy).flags("--format json").finish();
            if run.code == 1 && run.stderr.contains("--policy fifo") {
                return crate::support::skip("no right to a real-time policy");
            }
            let samples = run.expect(0).record().samples.unwrap();
            assert!(samples.min < 1_000_000_000, "{policy}: {samples:?}");
        }
    }
}

#[test]
fn what_makes_no_sense_together_is_refused() {
    for benchmark in with("--multishot") {
        for executor in &benchmark.flags["--executor"] {
            let run = benchmark
                .tiny("--multishot --executor")
                .arg(executor)
                .finish();
            match executor.as_str() {
                "ring" => run.expect_quiet_success(),
                _ => run.expect_refusal(2, &["--multishot", "--executor ring"]),
            };
        }
        for flags in [
            "--placement half",
            "--placement spread",
            "--setup iopoll",
            "--executor tokio",
        ] {
            let flag = flags.split(' ').next().unwrap();
            benchmark.tiny(flags).finish().expect_refusal(2, &[flag]);
        }
    }
}

/// As many as descriptors allow, and more tokens than the queues have entries.
#[test]
fn many_tasks_and_many_tokens_find_room() {
    for benchmark in with("--multishot") {
        let checked = benchmark.run("--check-limits --format json").finish();
        let largest = number_after(&checked.stdout, "\"largest\":").unwrap();
        let sizes = [
            (largest.min(9_990), 1),
            (largest.min(9_990), 50),
            (3, 9_000),
        ];
        let executors = benchmark.flags["--executor"].iter();
        let variants = executors.map(|executor| format!("--executor {executor}"));
        for flags in variants.chain(["--multishot".to_owned()]) {
            for (tasks, tokens) in sizes {
                let size = format!("--tasks {tasks} --tokens {tokens} --iters 1 --warmups 1");
                record(benchmark.run(&size).flags(&flags));
            }
        }
    }
}
