//! Runs that are obstructed: signals, limits, files that vanish, locks that are held. The runner is
//! alone with a fake in the place of a benchmark program, so that nothing is built.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::sys::signal::Signal::{self, SIGINT, SIGTERM};
use nix::sys::signal::{SigHandler, signal};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::{RECORDS, switchcost};
use crate::support::RUNNER;
use crate::support::house::House;
use crate::support::process::{NO_FILES, Run, Running};
use crate::support::until;

fn house() -> House {
    House::new(5, &["one-thread-brigade"])
}

/// Waits until the runner sleeps, and sees to it that a signal ends it.
fn interrupt_asleep(running: Running) {
    let pid = running.pid();
    let is_in = |state: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains(&format!("(switchcost) {state} "))
    };
    until("it sleeps", || is_in("S"));
    running.send(SIGINT);
    until("it has ended", || is_in("Z"));
    assert_eq!(running.end_by(SIGINT), Vec::<String>::new());
}

fn fifo(path: &Path) -> &Path {
    mkfifo(path, Mode::S_IRWXU).unwrap();
    path
}

#[test]
fn the_first_signal_ends_a_wait_for_input_or_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    let fifo = fifo(&path);
    interrupt_asleep(switchcost("report").arg(fifo).start());
    interrupt_asleep(switchcost("compare").arg(fifo).arg(RECORDS).start());
}

#[test]
fn outputs_and_plans_are_regular_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    let fifo = fifo(&path);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("victim", &link).unwrap();
    let refused = |flags: &str, path: &Path, code: i32, word: &str| {
        let run = switchcost(flags).arg(path).folder(folder.path()).finish();
        run.expect_refusal(code, &[path.to_str().unwrap(), word]);
    };
    let report = format!("report {RECORDS} --html");
    let splice = format!("report {RECORDS} --splice");
    for (path, word) in [(fifo, "a FIFO"), (&link, "a link"), (Path::new("/dev/zero"), "a device")]
    {
        refused("run --quick --out", path, 1, word);
        refused("sweep --tasks 1..2 --out", path, 1, word);
        refused("run --resume", path, 2, word);
        refused(&report, path, 1, word);
    }
    for path in [fifo, Path::new("/dev/zero")] {
        refused("run --list --plan", path, 2, "no regular file");
        refused(&splice, path, 1, "no regular file");
    }
    assert!(!folder.path().join("victim").exists());
}

/// The pipe is full before it prints: nobody reads.
#[test]
fn a_signal_ends_a_write_that_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    let house = House::new(100_000, &["one-thread-brigade"]);
    for flags in ["", "--out /dev/stdout", "--out -"] {
        let mut held = fs::OpenOptions::new();
        held.read(true).write(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
        let mut held = held.open(&path).unwrap();
        while held.write(&[b'x'; 4096]).is_ok() {}
        let script = format!("exec >'{}'", path.display());
        let running = house.run_after(&script, flags).start();
        until("it measures", || running.has("one-thread-brig"));
        running.send(SIGTERM);
        until("it has ended", || running.has_ended());
        assert_eq!(running.finish().code, 143, "{flags}");
    }
}

#[test]
fn billions_of_rounds_begin_at_once() {
    let house = house();
    let running = house.run("--rounds 4294967295").start();
    let lines = || fs::read_to_string(house.out()).map_or(0, |text| text.lines().count());
    until("two rounds are over", || lines() > 2);
    running.signal(SIGINT);
    let run = running.finish_all().expect(130);
    assert!(run.stdout.contains("row one-thread"), "{run}");
}

#[test]
fn a_file_size_limit_leaves_the_tables() {
    let house = house();
    // 4 KiB: room for some records of a hundred, and for each of them alone.
    let run = house.run_after("ulimit -f 8", "--rounds 100").finish();
    let run = run.expect(1).expect_complaint(&["File too large", "out.jsonl"]);
    assert!(run.stdout.contains("row one-thread"), "{run}");
}

#[test]
fn no_file_at_all_is_told_with_its_name() {
    let house = house();
    let run = Run::within(NO_FILES, &house.path("switchcost")).flags("run");
    let run = house.of_plan(run.folder(house.folder()), "").finish().expect_quiet_success();
    for words in ["out.jsonl", "File too large", "status 1\n"] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    assert!(!house.out().exists(), "{run}");
}

/// It may be killed before it has anything to write.
#[test]
fn an_empty_file_of_records_is_harmless() {
    let house = house();
    fs::write(house.out(), "").unwrap();
    switchcost("report").arg(house.out()).finish().expect_refusal(1, &["is empty", "--resume"]);
    house.run("--resume out.jsonl").finish().expect(0);
    assert_eq!(house.processes().len(), 5);
}

#[test]
fn an_estimate_leaves_nothing_behind() {
    let house = House::new(1, &[]);
    let folder = house.path("tmp");
    fs::create_dir(&folder).unwrap();
    let running = house.switchcost("estimate --switches 9").env("TMPDIR", folder.to_str()).start();
    until("it measures", || running.stderr_so_far().contains("measuring"));
    running.signal(Signal::SIGQUIT);
    running.finish_all().expect(131);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

/// Results that `estimate` takes.
const ANSWER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../results/xeon6-2vcpu-6.18/answer.jsonl");

/// Ctrl-\, and what ends a process by default, leave no child of a child.
#[test]
fn a_command_and_its_children_end_with_whoever_started_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("async-brigade");
    fs::hard_link(RUNNER, &program).unwrap();
    for signal in [Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGALRM] {
        let script = "sleep 1000 & setsid sleep 1001 & exec sleep 1002";
        let estimate = switchcost("estimate --for 1000s").arg(ANSWER).flags("-- sh -c");
        let program = Run::of(&program).flags("--tasks 2 --iters 1 --command");
        for run in [estimate.arg(script), program.arg(script)] {
            let running = run.start();
            until("the command runs", || running.count("sleep") == 3);
            running.signal(signal);
            running.finish_all().expect(128 + signal as i32);
        }
    }
}

#[test]
fn records_that_vanish_are_missed() {
    let house = house();
    house.fake("one-thread-brigade", "rm -f out.jsonl");
    let run = house.run("").finish().expect(1);
    let run = run.expect_complaint(&["out.jsonl was removed"]);
    assert!(run.stdout.contains("row one-thread"), "{run}");
    assert!(!run.stderr.contains("records: "), "{run}");
}

#[test]
fn a_parent_that_ignores_its_children_does_not_matter() {
    let house = house();
    let ignored = || {
        // SAFETY: the action is no handler.
        #[expect(unsafe_code, reason = "a signal's action is set between fork and exec")]
        unsafe {
            signal(Signal::SIGCHLD, SigHandler::SigIgn)?;
        }
        Ok(())
    };
    // SAFETY: it makes a system call and nothing else.
    #[expect(unsafe_code, reason = "as `prepared` asks for")]
    let run = unsafe { house.run("").prepared(ignored) };
    let run = run.finish().expect(0);
    assert!(run.stdout.contains("row one-thread"), "{run}");
}
