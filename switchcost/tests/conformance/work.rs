//! Work that only some programs do.

use crate::support::process::{Outcome, Run};
use crate::support::{build, skip};

fn run(program: &str, flags: &str, more: &str) -> Outcome {
    Run::of(build().join(program)).flags(flags).flags(more).start().finish_all()
}

/// The first task takes the tokens from a backlog, and the program checks their order.
#[test]
fn a_stream_comes_out_in_order() {
    for (program, flags) in [
        ("thread-mem-brigade", "--transport futex"),
        ("thread-mem-brigade", "--transport mpsc"),
        ("async-mem-brigade", "--transport mpsc"),
        ("async-mem-brigade", "--transport unbounded"),
        ("async-mem-brigade", "--transport async-channel"),
        ("async-mem-brigade", "--transport oneshot"),
        ("async-mem-brigade", "--transport notify"),
        ("async-mem-brigade", "--transport mutex"),
        ("async-mem-brigade", "--executor minimal --idle 5 --transport slot"),
        ("async-mem-brigade", "--executor minimal --idle 5 --transport mutex"),
        ("async-mem-brigade", "--executor minimal --idle 5 --transport mpsc"),
    ] {
        run(program, flags, "--tasks 2 --tokens 5 --iters 3 --feed first-task").expect(0);
    }
}

#[test]
fn arrivals_are_served_at_a_load_and_at_an_interval_and_no_backlog_grows() {
    for kind in
        ["tokio", "tokio-outside", "tokio-per-cpu", "pool", "pool-condvar", "pool-futex", "thread"]
    {
        let served = format!("--work 20us --tasks 2 --iters 300 --warmup 1 --on {kind}");
        for (flags, rows) in [
            ("--load 20", &["iteration", "in task", "generator late", "cpu percent"][..]),
            ("--every 200us", &["iteration", "to end", "submitted late"]),
        ] {
            let run = run("sparse-arrivals", flags, &served).expect(0);
            let has = |row: &&&str| run.stdout.lines().any(|line| line.starts_with(**row));
            assert!(rows.iter().all(|row| has(&row)), "{run}");
        }
        let run = run("sparse-arrivals", "--load 150 --work 10us --iters 1 --on", kind);
        let run = run.expect_refusal(1, &["the backlog", "a load of 150 %"]);
        assert_eq!(run.stderr.lines().count(), 1, "{run}");
    }
}

#[test]
fn each_way_to_wake_a_thread_is_done() {
    for on in ["futex", "condvar", "pipe", "eventfd", "uring-eventfd", "uring-futex"] {
        for other in ["none", "same-cpu", "idle-cpu", "busy-cpu"] {
            let flags = format!("--on {on} --other-side {other}");
            let run = run("waiting", &flags, "--tasks 20 --iters 5 --warmup 1");
            if run.code == 1 && run.stderr.contains("io_uring is not available") {
                return skip(&run.stderr);
            }
            run.expect(0);
        }
    }
}

/// Each row of `waiting` counts what it did, and refuses the flags that are not for it.
#[test]
fn each_way_to_wait_is_done() {
    let some = "--tasks 20 --iters 5 --warmup 1";
    for on in ["tokio-timer", "smol-timer", "timerfd", "posix-timer", "timeout-ready"] {
        run("waiting", &format!("--armed 3 --on {on}"), some).expect(0);
    }
    for on in ["select-2-ready", "select-2-pending", "select-8-ready", "select-8-pending", "join-2"]
    {
        run("waiting", &format!("--on {on}"), some).expect(0);
        run("waiting", &format!("--on {on} --other-side same-cpu"), some)
            .expect_refusal(2, &["--other-side", on]);
    }
    for on in ["notify", "oneshot", "mpsc", "watch", "semaphore", "timeout-hand-over", "spawn"] {
        for other in ["same-cpu", "two-workers", "idle-cpu --flavor multi-thread", "busy-cpu"] {
            run("waiting", &format!("--on {on} --other-side {other}"), some).expect(0);
        }
    }
    for on in ["std-mutex", "parking-lot", "tokio-mutex"] {
        run("waiting", &format!("--on {on} --contenders 3 --held 1us"), some).expect(0);
    }
    for on in ["spawn-blocking", "block-in-place"] {
        run("waiting", &format!("--on {on} --spawners 3"), some).expect(0);
    }
    run("waiting", "--on notify --stack-size 64KiB", some).expect_refusal(2, &["--stack-size"]);
    run("waiting", "--on tokio-mutex --contenders 21", some).expect_refusal(2, &["21", "--tasks"]);
}
