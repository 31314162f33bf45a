//! Work that only some programs do.

use crate::support::house::executable;
use crate::support::process::{Outcome, Run};
use crate::support::{build, is_installed, skip};

fn run(program: &str, flags: &str, more: &str) -> Outcome {
    Run::of(build().join(program)).flags(flags).flags(more).finish()
}

/// Runs a program again, up to four times, whose rate is not reached: other tests may have all CPUs for a while.
pub(super) fn patiently(run: impl Fn() -> Outcome) -> Outcome {
    let is_starved = |run: &Outcome| run.stderr.contains("reach only");
    (0..4).map(|_| run()).find(|run| !is_starved(run)).unwrap_or_else(&run)
}

/// The program checks that each message comes once, and those of each producer in order.
#[test]
fn messages_of_several_producers_come_out_in_order() {
    for flags in ["--capacity 0", "--capacity 7 --repeater", "--on tokio", "--on tokio --repeater"]
    {
        run("stream", flags, "--tasks 3 --tokens 100 --iters 3").expect(0);
    }
}

#[test]
fn requests_of_any_size_are_answered_and_a_rate_that_is_not_reached_is_an_error() {
    let built_in = [
        "io",
        "epoll",
        "epoll-per-cpu",
        "epoll-pool",
        "thread",
        "tokio-current-thread",
        "tokio",
        "tokio-spawn",
    ];
    for on in built_in {
        let flags = format!("--tasks 3 --iters 2 --on {on}");
        for size in ["9", "100KiB"] {
            let more = format!("--rate 40 --warmup 1 --size {size} --work 10us");
            let run = patiently(|| run("arrivals", &flags, &more)).expect(0);
            let has = |row: &&str| run.stdout.lines().any(|line| line.starts_with(*row));
            assert!(["request", "response", "sent late"].iter().all(has), "{run}");
        }
    }
    let flags = "--tasks 3 --iters 2 --on thread";
    let run = run("arrivals", flags, "--rate 1000000 --warmup 5 --size 1KiB");
    let run = run.expect_refusal(1, &["--rate 1000000", "requests/s", "lower it"]);
    assert_eq!(run.stderr.lines().count(), 1, "{run}");
}

/// A server that changes, repeats or drops what it is sent is none, and neither is one that leaves the work to a daemon.
/// No process is left.
#[test]
fn a_server_has_to_return_each_request() {
    if !is_installed("python3") {
        return skip("there is no python3");
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("server");
    let daemon = "import os; os.fork() and os._exit(0); os.setsid()";
    for (start, answer, cause) in [
        ("", "data", ""),
        ("", "data[::-1]", "something else than the request"),
        ("", "data + data", "answered a request twice"),
        ("", "b''", "the server closed a connection"),
        (daemon, "data", "it must serve by itself, in the foreground"),
    ] {
        // The first request of each connection is answered in any case.
        let script = format!(
            "#!/usr/bin/env python3\nimport socket, threading\nprint('python threads 3', flush=True)\n\
             {start}\ndef echo(end):\n  end.sendall(end.recv(64))\n  while data := end.recv(64):\n    \
             if not ({answer}): return end.close()\n    end.sendall({answer})\n\
             listener = socket.socket(fileno=0)\n\
             while True: threading.Thread(target=echo, args=[listener.accept()[0]], daemon=True).start()\n"
        );
        executable(&path, &script);
        let on = format!("--on {}", path.display());
        let run = run("arrivals", &on, "--tasks 2 --rate 20 --iters 2 --warmup 1");
        if cause.is_empty() {
            run.expect(0);
        } else {
            run.expect_refusal(1, &[cause]);
        }
    }
}

#[test]
fn each_way_to_wake_a_thread_is_done() {
    for on in ["futex", "condvar", "pipe", "uring-msg-ring"] {
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
    for on in ["tokio-timer", "timerfd", "timeout-ready"] {
        run("waiting", &format!("--armed 3 --on {on}"), some).expect(0);
    }
    for on in ["select-2-pending", "select-8-pending"] {
        run("waiting", &format!("--on {on}"), some).expect(0);
        run("waiting", &format!("--on {on} --other-side same-cpu"), some)
            .expect_refusal(2, &["--other-side", on]);
    }
    for on in ["notify", "oneshot", "mpsc", "watch", "timeout-hand-over"] {
        for other in ["same-cpu", "idle-cpu --workers 1", "busy-cpu"] {
            run("waiting", &format!("--on {on} --other-side {other}"), some).expect(0);
        }
    }
    let shared = "--tasks 150 --iters 5 --warmup 1 --contenders 3";
    for on in ["std-mutex", "parking-lot", "tokio-mutex"] {
        run("waiting", &format!("--on {on} --held 1us"), shared).expect(0);
    }
    for on in
        ["tokio-timer", "timeout-ready", "spawn", "inject", "spawn-blocking", "block-in-place"]
    {
        run("waiting", &format!("--on {on} --workers 2"), shared).expect(0);
    }
    run("waiting", "--on timerfd", shared).expect_refusal(2, &["--contenders", "timerfd"]);
    run("waiting", "--on std-mutex", shared).expect_refusal(2, &["--tasks to 30000"]);
}
