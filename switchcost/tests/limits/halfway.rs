//! A limit that is met half-way: the check beforehand has passed, and then it is lowered. strace
//! stops the program at a system call, the limit is lowered, and the program goes on.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::groups::Group;
use crate::support::benchmarks::{Benchmark, all, with};
use crate::support::process::{Outcome, Run};
use crate::support::{is_installed, number_after, skip, until};

/// Why no test of this module can be made here, if so.
fn missing() -> Option<&'static str> {
    if !is_installed("strace") || !is_installed("prlimit") {
        return Some("no strace or no prlimit");
    }
    let traced = Run::of("strace").flags("-o /dev/null true").finish();
    (traced.code != 0).then_some("strace may not trace here")
}

/// How many entries a folder of the process has.
fn entries(pid: i32, folder: &str) -> usize {
    fs::read_dir(format!("/proc/{pid}/{folder}")).map_or(0, |entries| entries.count())
}

/// Runs a program under strace, which stops it at its `at`th call of `call`; once `reached` says
/// that it is there, `lower` lowers a limit, and the program goes on to its end.
fn run(
    benchmark: &Benchmark,
    (call, at): (&str, u32),
    (enter, flags): (&str, &str),
    reached: impl Fn(i32) -> bool,
    lower: impl FnOnce(i32),
) -> Outcome {
    let inject = format!("-e trace={call} -e inject={call}:signal=SIGSTOP:when={at}");
    let script = format!(r#"{enter} exec strace -f -qq -o /dev/null {inject} "$0" "$@""#);
    let running = benchmark
        .within(&script, "--iters 1 --warmups 0 --format json")
        .flags(flags)
        .start();
    // The kernel keeps 15 characters of a name.
    let name: String = benchmark.name.chars().take(15).collect();
    let mut pid = 0;
    until("the program has stopped half-way", || {
        pid = running.process(&name).unwrap_or(0);
        pid != 0 && reached(pid)
    });
    // The stop follows the call's entry.
    thread::sleep(Duration::from_millis(50));
    lower(pid);
    let going = thread::spawn(move || {
        // Whether the stop has been taken yet does not show: it is lifted until the end.
        for _ in 0..200 {
            if kill(Pid::from_raw(pid), Signal::SIGCONT).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    let outcome = running.finish_all();
    going.join().unwrap();
    outcome
}

/// A failure that names these words, on standard error and in the record.
fn expect(outcome: Outcome, words: &[&str]) {
    let outcome = outcome.expect(1).expect_complaint(words);
    let error = outcome.record().error.unwrap();
    assert!(words.iter().all(|word| error.contains(word)), "{outcome}");
}

fn prlimit(pid: i32, limit: &str) {
    let status = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), limit])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn no_descriptor_for_a_link_is_told() {
    if let Some(why) = missing() {
        return skip(why);
    }
    for benchmark in all().iter().filter(|benchmark| benchmark.has_descriptors()) {
        let outcome = run(
            benchmark,
            ("pipe2", 30),
            ("", "--tasks 60"),
            |pid| entries(pid, "fd") >= 58,
            |pid| prlimit(pid, "--nofile=64:64"),
        );
        let words = [
            "cannot make a link after",
            "of 60 tasks",
            "open files",
            "ulimit -n",
        ];
        expect(outcome, &words);
    }
}

#[test]
fn no_thread_for_a_task_or_a_worker_is_told() {
    if let Some(why) = missing() {
        return skip(why);
    }
    let is_threaded =
        |benchmark: &&Benchmark| benchmark.has_threads() || benchmark.has("--workers");
    for benchmark in all().iter().filter(is_threaded) {
        let group = match Group::limited_to("half", 100) {
            Ok(group) => group,
            Err(why) => return skip(&why),
        };
        let (flags, words) = match benchmark.has_threads() {
            true => (
                "--tasks 40",
                ["cannot create a thread after", "of 40 tasks"],
            ),
            false => (
                "--tasks 3 --flavor multi-thread --workers 40",
                ["cannot start a worker after", "of 40 workers"],
            ),
        };
        let outcome = run(
            benchmark,
            ("clone3", 20),
            (&group.enter(), flags),
            // Threads that have done their work may have ended already.
            stopped,
            |_| group.set("pids.max", 1).unwrap(),
        );
        if outcome.code == 77 {
            return skip("no process can be moved to a control group");
        }
        let file = group.path().join("pids.max");
        let words = [
            words[0],
            words[1],
            "used up: pids.max",
            file.to_str().unwrap(),
            "tee",
        ];
        expect(outcome, &words);
    }
}

#[test]
fn no_bare_thread_is_told() {
    if let Some(why) = missing() {
        return skip(why);
    }
    for benchmark in with("--floor").filter(|benchmark| benchmark.has_threads()) {
        let group = match Group::limited_to("bare", 100) {
            Ok(group) => group,
            Err(why) => return skip(&why),
        };
        let outcome = run(
            benchmark,
            ("clone3", 20),
            (&group.enter(), "--tasks 40 --floor"),
            stopped,
            |_| group.set("pids.max", 1).unwrap(),
        );
        if outcome.code == 77 {
            return skip("no process can be moved to a control group");
        }
        let words = [
            "cannot create a thread after",
            "of 40 tasks",
            "used up: pids.max",
        ];
        expect(outcome, &words);
    }
}

#[test]
fn no_process_for_a_task_is_told() {
    if let Some(why) = missing() {
        return skip(why);
    }
    for benchmark in all().iter().filter(|benchmark| benchmark.has_processes()) {
        let group = match Group::limited_to("forks", 100) {
            Ok(group) => group,
            Err(why) => return skip(&why),
        };
        let outcome = run(
            benchmark,
            ("clone", 20),
            (&group.enter(), "--tasks 40"),
            stopped,
            |_| group.set("pids.max", 1).unwrap(),
        );
        if outcome.code == 77 {
            return skip("no process can be moved to a control group");
        }
        let words = [
            "cannot create a process after",
            "of 40 tasks",
            "used up: pids.max",
        ];
        expect(outcome, &words);
    }
}

#[test]
fn no_map_for_a_stack_is_told() {
    if let Some(why) = missing() {
        return skip(why);
    }
    for benchmark in all().iter().filter(|benchmark| benchmark.has_threads()) {
        let flags = "--tasks 40 --stack-size 64MiB";
        let sleeping = format!("{flags} --sleep 3600s");
        let with_sleep = benchmark.has("--sleep").then_some(&sleeping[..]);
        for flags in [flags].into_iter().chain(with_sleep) {
            let outcome = run(
                benchmark,
                ("clone3", 20),
                ("", flags),
                stopped,
                // Room for what std maps in a thread, and for no further stack.
                |pid| {
                    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
                    let size = number_after(&status, "VmSize:").unwrap() * 1024;
                    prlimit(pid, &format!("--as={}:unlimited", size + (40 << 20)));
                },
            );
            let words = ["cannot create a thread after", "virtual memory (ulimit -v)"];
            expect(outcome, &words);
        }
    }
}

/// Whether every thread of the process is stopped, and not just for the moment that strace looks.
fn stopped(pid: i32) -> bool {
    let stays = || {
        thread::sleep(Duration::from_millis(20));
        is_stopped(pid)
    };
    is_stopped(pid) && stays() && stays()
}

fn is_stopped(pid: i32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    let states = threads.flatten().map(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        state.is_some_and(|state| state.trim().starts_with(['T', 't']))
    });
    let states: Vec<bool> = states.collect();
    !states.is_empty() && states.into_iter().all(|stopped| stopped)
}
