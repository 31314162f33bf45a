//! `--policy`: what each thread is scheduled by, what is told where that is denied, and that a run
//! under a real-time policy starts, ends and can be stopped.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Uid;

use crate::support::benchmarks::{Benchmark, all};
use crate::support::process::Run;
use crate::support::{is_installed, skip, until};

/// Prints `/proc/PID/stat` of the program's threads, a line of dashes, and that of the command.
const LOOK: &str = "cat /proc/{pid}/task/*/stat; echo ---; cat /proc/self/stat";

/// The policy of each thread whose `/proc/PID/stat` is among these lines: field 41 of proc(5). What
/// is in parentheses, field 2, may hold anything.
fn policies(stats: &str) -> Vec<u32> {
    let policy = |line: &str| {
        let (_, fields) = line.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(41 - 3).unwrap().parse().ok()
    };
    stats.lines().map(|line| policy(line).unwrap()).collect()
}

/// The distinct policies of the program's threads, and that of its command.
fn seen(run: Run) -> (Vec<u32>, Vec<u32>) {
    let run = run.flags("-q --command").arg(LOOK).finish();
    let run = run.expect_quiet_success();
    let (threads, command) = run.stdout.split_once("---\n").unwrap();
    let mut threads = policies(threads);
    threads.sort_unstable();
    threads.dedup();
    (threads, policies(command))
}

/// The turn of a test that uses fifo, if that may be had here: such programs keep their CPUs from
/// each other.
fn fifo() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let run = all()[0].tiny("--policy fifo").finish();
    if run.code == 0 {
        return Some(turn);
    }
    let run = run.expect_refusal(1, &["--policy fifo"]);
    skip(run.stderr.trim());
    None
}

fn record_of(benchmark: &Benchmark, policy: &str) -> String {
    let run = benchmark.tiny("--format json --policy").arg(policy);
    let record = run.finish().expect_quiet_success().record();
    record.params["policy"].as_str().unwrap().to_owned()
}

#[test]
fn every_thread_is_under_the_policy_and_the_command_is_not() {
    let own = seen(all()[0].tiny("")).1;
    let turn = fifo();
    for (policy, number) in [("other", 0), ("batch", 3), ("fifo", 1)] {
        if policy == "fifo" && turn.is_none() {
            continue;
        }
        for benchmark in all() {
            assert_eq!(record_of(benchmark, policy), policy);
            let run = benchmark.tiny("--policy").arg(policy);
            assert_eq!(seen(run), (vec![number], own.clone()), "{}", benchmark.name);
        }
    }
}

#[test]
fn without_the_flag_it_is_inherited_and_told() {
    if !is_installed("chrt") {
        return skip("no chrt");
    }
    for benchmark in all() {
        let started = |flags: &str| {
            let run = Run::of("chrt").flags("-b 0").arg(&benchmark.path);
            run.flags("--tasks 3 --iters 4 --warmups 1")
                .flags(flags)
                .flags(benchmark.light())
        };
        let told = |flags: &str| {
            let run = started("--format json").flags(flags).finish();
            run.expect_quiet_success().record().params["policy"].clone()
        };
        assert_eq!(told(""), "batch");
        assert_eq!(seen(started("")), (vec![3], vec![3]));
        assert_eq!(told("--policy other"), "other");
        assert_eq!(seen(started("--policy other")), (vec![0], vec![3]));
    }
}

#[test]
fn without_the_right_fifo_says_what_is_missing() {
    if !is_installed("setpriv") || !is_installed("prlimit") {
        return skip("no setpriv or no prlimit");
    }
    for benchmark in all() {
        let run = match Uid::effective().is_root() {
            true => Run::of("setpriv").flags("--bounding-set=-sys_nice prlimit"),
            false => Run::of("prlimit"),
        };
        let run = run.arg("--rtprio=0").arg(&benchmark.path);
        let run = run.flags("--tasks 3 --iters 4 --policy fifo").finish();
        run.expect_refusal(1, &["--policy fifo", "CAP_SYS_NICE", "ulimit -r"]);
    }
}

#[test]
fn a_real_time_priority_is_right_enough() {
    if !is_installed("setpriv") || !is_installed("prlimit") {
        return skip("no setpriv or no prlimit");
    }
    let Some(_turn) = fifo() else {
        return;
    };
    for benchmark in all() {
        let run = Run::of("prlimit").flags("--rtprio=1 setpriv --bounding-set=-sys_nice");
        let run = run.arg(&benchmark.path);
        let run = run
            .flags("--tasks 3 --iters 4 --policy fifo -q")
            .flags(benchmark.light())
            .finish();
        if run.stderr.starts_with("prlimit:") {
            return skip("the limit of real-time priorities cannot be raised");
        }
        run.expect_quiet_success();
    }
}

/// A thread that asks again and again instead of sleeping would keep the only CPU from those that
/// it waits for.
#[test]
fn under_fifo_nothing_waits_by_spinning() {
    let Some(_turn) = fifo() else {
        return;
    };
    for benchmark in all() {
        let mut variants = vec![String::new()];
        for flag in ["--flavor", "--transport", "--stacks"] {
            let values = benchmark.flags.get(flag).into_iter().flatten();
            variants.extend(values.map(|value| benchmark.choice(flag, value)));
        }
        for variant in variants {
            let run = benchmark.tiny("--policy fifo --placement one-cpu -q");
            let begun = Instant::now();
            run.flags(&variant).finish().expect_quiet_success();
            let took = begun.elapsed();
            // A spinning wait ends after 30 s, by its own time-out.
            assert!(took < Duration::from_secs(15), "{variant}: {took:?}");
        }
    }
}

#[test]
fn under_fifo_it_can_be_interrupted() {
    let Some(_turn) = fifo() else {
        return;
    };
    for benchmark in all() {
        for placement in ["free", "one-cpu"] {
            let run = benchmark.run("--tasks 5 --warmups 0 --iters 4000000000 --policy fifo");
            let running = run.flags("--placement").arg(placement).start();
            running.signal(Signal::SIGINT);
            let run = running.finish_all().expect(130);
            run.expect_complaint(&["interrupted"]);
        }
    }
}

#[test]
fn a_hanging_task_under_fifo_is_ended_by_the_second_signal() {
    let Some(_turn) = fifo() else {
        return;
    };
    let threads = all().iter().find(|b| b.name == "thread-brigade").unwrap();
    let run = threads.run("--tasks 5 --warmups 0 --iters 9 --policy fifo --test-fault hang@2");
    let running = run.start();
    running.signal(Signal::SIGINT);
    let begun = Instant::now();
    until("two signals are apart", || {
        begun.elapsed() > Duration::from_secs(1)
    });
    running.send(Signal::SIGINT);
    running.finish_all().expect(130);
}
