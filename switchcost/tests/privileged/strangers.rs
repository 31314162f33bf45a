//! A measuring process that others interfere with. It takes no right where they are the same user's.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use contract::message::Answer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use record::Setting;
use switchcost::check::Candidate;
use switchcost::measure::session::Session;

use crate::support::process::Run;
use crate::support::{build, skip, until};

/// A controlled run that is ready, and its processes.
fn ready(program: &str, flags: &[&str]) -> (Session, Vec<i32>) {
    let executable = build().join(program).into();
    let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
    let setting = Setting::default();
    let candidate = Candidate { executable, flags, timeout: Duration::from_secs(60), setting };
    let mut live = candidate.start_small().unwrap();
    let pids = live.ready(None).unwrap().pids;
    (live, pids)
}

/// Threads of a process, each a folder of /proc.
fn threads(pid: i32) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_task_that_is_killed_is_named_as_the_cause() {
    for (before, after) in [("", "run 10000\n"), ("run 10000\n", "")] {
        let (mut live, pids) = ready("process-brigade", &[]);
        live.send(before).unwrap();
        // The program itself, then its tasks.
        kill(Pid::from_raw(pids[2]), Signal::SIGKILL).unwrap();
        live.send(after).unwrap();
        let mut answer = live.answer().unwrap();
        if let Answer::Ran { .. } = answer {
            live.send("end\n").unwrap();
            answer = live.answer().unwrap();
        }
        let Answer::Failed { error } = answer else { panic!("{answer:?}") };
        assert!(error.contains("task 1") && error.contains("SIGKILL"), "{error}");
        live.finish().unwrap().expect(1).unwrap();
    }
}

/// Threads that a signal stops were woken, and go to sleep again.
#[test]
fn an_idle_thread_that_was_woken_is_an_error() {
    let (mut live, pids) = ready("futex-table", &["--idle", "3"]);
    let threads = threads(pids[0]);
    assert!(threads.len() > 3, "{threads:?}");
    let is_stopped = |thread: &PathBuf| {
        let status = fs::read_to_string(thread.join("status")).unwrap_or_default();
        status.contains("State:\tT")
    };
    live.signal(Signal::SIGSTOP).unwrap();
    until("all threads are stopped", || threads.iter().all(is_stopped));
    live.signal(Signal::SIGCONT).unwrap();
    live.send("end\n").unwrap();
    let answer = live.answer().unwrap();
    let Answer::Failed { error } = answer else { panic!("{answer:?}") };
    assert!(error.contains("an idle task was woken"), "{error}");
    live.finish().unwrap().expect(1).unwrap();
}

/// Whoever spins there keeps the CPU from those that it waits for.
#[test]
fn programs_that_keep_their_only_cpu_by_a_real_time_policy_end() {
    let cpu = observe::affinity::allowed().unwrap()[0];
    let alone = format!("-c {cpu} chrt -f 1");
    if Run::of("sh").flags("-c").arg(format!("taskset {alone} true")).finish().code != 0 {
        return skip("no taskset, no chrt, or no right to set a real-time policy");
    }
    for flags in [
        "async-brigade",
        "pairs --on tokio --chains 2",
        "async-mem-brigade --flavor multi-thread",
        "floors --of executor",
        "sleepers --on tokio --sleep 1ms --gate",
        "sleepers --sleep 1ms --gate",
        "pairs --chains 2",
        "thread-mem-brigade",
        "process-brigade",
    ] {
        let (program, flags) = flags.split_once(' ').unwrap_or((flags, ""));
        let run = Run::of("taskset").flags(&alone).arg(build().join(program));
        run.flags("--tasks 2 --iters 3").flags(flags).finish().expect(0);
    }
}
