//! System calls as strace sees them, and as it has them fail.

use std::fs;

use serde_json::{Value, json};

use crate::support::house::House;
use crate::support::process::Run;
use crate::support::{build, is_installed, skip};

/// A run, and its hops.
const FLAGS: &str = "--quiet --tasks 9 --iters 300 --warmup 0";
const HOPS: usize = 10 * 300;

/// Calls beside the hops': those of a program's start, and of iterations that settle.
const OTHERS: usize = HOPS / 4;

/// `None` where nothing can be traced.
fn tracing() -> Option<()> {
    let may_trace = || Run::of("strace").flags("-f -o /dev/null true").finish().code == 0;
    if is_installed("strace") && may_trace() {
        return Some(());
    }
    skip("no strace, or nothing can be traced");
    None
}

/// Name and result of a call, from the line that tells of its return.
fn returned(line: &str) -> Option<(&str, &str)> {
    let (call, result) = line.rsplit_once(" = ")?;
    // An error has its text behind it.
    let result = result.split(" (").next()?;
    let (_, call) = call.split_once(' ')?;
    let call = call.trim_start().trim_start_matches("<... ");
    Some((&call[..call.find(['(', ' '])?], result))
}

/// Checks that a program makes, in each hop, so many calls of each kind: the beginning of the name, the
/// result if it matters, and the number.
fn check(program: &str, flags: &str, calls: &[(&str, &str, usize)]) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let run = Run::of("strace").flags("-f -o").arg(log.path()).arg(build().join(program));
    let run = run.flags(FLAGS).flags(flags).finish();
    if run.stderr.contains("io_uring is not available") {
        return skip(&run.stderr);
    }
    run.expect_quiet_success();
    let trace = fs::read_to_string(log.path()).unwrap();
    for &(name, result, each) in calls {
        let is_it = |call: &(&str, &str)| {
            call.0.starts_with(name) && (result.is_empty() || call.1 == result)
        };
        let count = trace.lines().filter_map(returned).filter(is_it).count();
        let least = each * (HOPS - 10);
        assert!(
            (least..=least + OTHERS).contains(&count),
            "{program} {flags}: {count} calls of {name} with result '{result}' in {HOPS} hops"
        );
    }
}

/// Each program's header says which.
#[test]
fn a_hop_makes_the_system_calls_that_it_is_said_to_make() {
    let Some(()) = tracing() else { return };
    let plain = [("read", "1", 1), ("write", "1", 1), ("futex", "", 0)];
    for program in ["thread-brigade", "process-brigade", "one-thread-brigade"] {
        check(program, "", &plain);
    }
    let waits = [("read", "1", 1), ("read", "-1 EAGAIN", 1), ("write", "1", 1), ("epoll_", "1", 1)];
    check("async-brigade", "--flavor current-thread", &waits);
    let short = [("read", "1", 1), ("read", "-1 EAGAIN", 0), ("write", "1", 1), ("futex", "", 0)];
    check("async-brigade", "--flavor current-thread --read-buffer 16", &short);
    let none = ["futex", "epoll_", "write", "sched_", "clock_"].map(|name| (name, "", 0));
    check("async-mem-brigade", "--flavor current-thread", &none);
    let ring = [("io_uring_enter", "", 1), ("read", "1", 0), ("write", "1", 0)];
    check("uring-brigade", "", &ring);
}

#[test]
fn events_that_a_sandbox_denies_are_absent_with_the_reason() {
    let Some(()) = tracing() else { return };
    let house = House::new(1, &["one-thread-brigade"]);
    let denied = "-f -o /dev/null -e trace=perf_event_open -e inject=perf_event_open:error=EPERM";
    let run = Run::of("strace").flags(denied).arg(house.path("switchcost"));
    let run = run.flags("stat --counters --iters 4 --format json ./one-thread-brigade");
    let run = run.folder(house.folder()).finish();
    let answer: Value = serde_json::from_str(run.expect(0).line()).unwrap();
    assert_eq!(answer["trial"]["samples"]["count"], 4);
    let counters = &answer["trial"]["counters"];
    assert_eq!(counters["events"], json!({}), "{counters}");
    let of_threads = &counters["absent"][0];
    assert_eq!(of_threads["events"][0], "cycles_user", "{counters}");
    assert_ne!(of_threads["reason"], "", "{counters}");
}
