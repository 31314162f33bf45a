//! Runs that are obstructed: signals, limits, files that vanish, locks that are held. The runner is
//! alone with a fake in the place of a benchmark program, so that nothing is built.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal::{self, SIGTERM};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use crate::support::house::House;
use crate::support::process::{NO_FILES, Run, Running};
use crate::support::{FIXTURE, build, switchcost, until};

fn house(rounds: u32) -> House {
    House::new(rounds, &["one-thread-brigade"])
}

/// Waits until the runner sleeps, and sees to it that a signal ends it.
fn interrupt_asleep(running: Running) {
    let stat = format!("/proc/{}/stat", running.pid());
    until("it sleeps", || fs::read_to_string(&stat).unwrap().contains("(switchcost) S "));
    assert_eq!(running.end_by(SIGTERM), Vec::<String>::new());
}

/// A folder with a FIFO.
fn fifo() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    (folder, path)
}

#[test]
fn the_first_signal_ends_a_wait_for_input_or_a_reader() {
    let (_folder, fifo) = fifo();
    interrupt_asleep(switchcost("report").arg(&fifo).start());
    interrupt_asleep(switchcost("compare").arg(&fifo).arg(FIXTURE).start());
}

#[test]
fn outputs_and_plans_are_regular_files() {
    let (folder, fifo) = fifo();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("victim", &link).unwrap();
    let refused = |flags: &str, path: &Path, code: i32, word: &str| {
        let run = switchcost(flags).arg(path).folder(folder.path()).finish();
        run.expect_refusal(code, &[path.to_str().unwrap(), word]);
    };
    let report = format!("report {FIXTURE} --html");
    let zero = Path::new("/dev/zero");
    for (path, word) in [(fifo.as_path(), "a FIFO"), (&link, "a link"), (zero, "a device")] {
        refused("run --quick --out", path, 2, word);
        refused(&report, path, 1, word);
    }
    refused("run --list --plan", &fifo, 2, "not a regular file");
    assert!(!folder.path().join("victim").exists());
}

/// The pipe is full before it prints: nobody reads.
#[test]
fn a_signal_ends_a_write_that_nobody_reads() {
    let (_folder, path) = fifo();
    let house = house(100_000);
    // It stays, whereas the program may have ended before anybody has seen it.
    let began = house.path("began");
    house.fake("one-thread-brigade", &format!(": >'{}'", began.display()));
    for flags in ["", "--out -"] {
        let mut held = fs::OpenOptions::new();
        held.read(true).write(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
        let mut held = held.open(&path).unwrap();
        while held.write(&[b'x'; 4096]).is_ok() {}
        let _ = fs::remove_file(&began);
        let running = house.run_after(&format!("exec >'{}'", path.display()), flags).start();
        until("it measures", || began.exists());
        running.send(SIGTERM);
        running.finish().expect(143);
    }
}

#[test]
fn records_that_cannot_be_kept_leave_the_tables() {
    // 8 KiB: room for some records, and for each of them alone.
    let full = house(20);
    let run = full.run_after("ulimit -f 16", "").finish().expect(1);
    let run = run.expect_complaint(&["File too large", "out.jsonl"]);
    assert!(run.stdout.contains("row one-thread"), "{run}");
    assert!((1..20).contains(&full.processes().len()), "{run}");
    let vanishing = house(5);
    vanishing.fake("one-thread-brigade", "rm -f out.jsonl");
    let run = vanishing.run("").finish().expect(1).expect_complaint(&["out.jsonl was removed"]);
    assert!(run.stdout.contains("row one-thread"), "{run}");
    let house = house(1);
    let run = house.run_within(NO_FILES, "").finish().expect_quiet_success();
    for words in ["out.jsonl", "File too large", "status 1\n"] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    assert!(!house.out().exists(), "{run}");
}

/// Ctrl-\, and what ends a process by default, leave no child of a child.
#[test]
fn a_command_and_its_children_end_with_whoever_started_it() {
    for signal in [Signal::SIGQUIT, Signal::SIGALRM] {
        let script = "sleep 1000 & setsid sleep 1001 & exec sleep 1002";
        let program = Run::of(build().join("async-brigade")).flags("--tasks 2 --iters 1 --command");
        let running = program.arg(script).start();
        until("the command runs", || running.count("sleep") == 3);
        running.signal(signal);
        running.finish().expect(128 + signal as i32);
    }
}
