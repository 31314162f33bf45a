//! Runs that are obstructed: signals, limits, files that vanish, locks that are held. The runner is
//! alone with a script in the place of a benchmark program, so that nothing is built.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal::{self, SIGINT};
use nix::sys::signal::{SigHandler, signal};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use super::{RECORDS, script, switchcost};
use crate::support::benchmarks::RUNNER;
use crate::support::process::{Run, Running};
use crate::support::until;

const PLAN: &str = r#"
    rounds = 5

    [[section]]
    title = "One of them"
    metric = "hop"

    [[section.row]]
    name = "one"
    program = "one-thread-brigade"
    flags = ["--tasks", "1"]
    iters = 1
    warmups = 0
"#;

/// A folder with the runner, a program and a plan.
struct Alone(TempDir);

impl Alone {
    /// The program prints a record, and then does what the script says.
    fn with(then: &str) -> Self {
        // On the file system of the runner, for a hard link.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let alone = Alone(folder);
        fs::hard_link(RUNNER, alone.path("switchcost")).unwrap();
        fs::write(alone.path("plan.toml"), PLAN).unwrap();
        fs::write(alone.path("record"), record()).unwrap();
        let text = format!("cat '{}'\n{then}", alone.path("record").display());
        script(&alone.path("one-thread-brigade"), &text);
        alone
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn out(&self) -> PathBuf {
        self.path("out.jsonl")
    }

    fn run(&self) -> Run {
        self.running_plan(Run::of(self.path("switchcost")))
    }

    /// A run of the plan that a shell begins.
    fn run_after(&self, shell: &str) -> Run {
        let script = format!("{shell}\nexec \"$0\" \"$@\"");
        self.running_plan(Run::within(&script, &self.path("switchcost")))
    }

    fn running_plan(&self, run: Run) -> Run {
        let run = run.folder(self.0.path());
        run.flags("run --budget 0s --plan plan.toml --out out.jsonl")
    }
}

/// A record as a program prints it.
fn record() -> String {
    let records = fs::read_to_string(RECORDS).unwrap();
    let of_program = |line: &&str| line.contains("\"benchmark\":\"one-thread-brigade\"");
    let line = records.lines().find(of_program).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
    record.as_object_mut().unwrap().remove("plan");
    format!("{record}\n")
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
    interrupt_asleep(
        switchcost("report")
            .arg(RECORDS)
            .arg("--html")
            .arg(fifo)
            .start(),
    );
    interrupt_asleep(switchcost("run --plan").arg(fifo).start());
    interrupt_asleep(switchcost("run --resume").arg(fifo).start());
    interrupt_asleep(switchcost("list --plan").arg(fifo).start());
}

#[test]
fn the_first_signal_ends_a_run_whose_records_nobody_reads() {
    let alone = Alone::with("");
    let out = alone.out();
    let reader = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(fifo(&out))
        .unwrap();
    let running = alone.run().flags("--rounds 1000").start();
    let writer = OpenOptions::new()
        .write(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(&out)
        .unwrap();
    until("the pipe is full", || {
        let mut fds = [PollFd::new(writer.as_fd(), PollFlags::POLLOUT)];
        poll(&mut fds, PollTimeout::ZERO).unwrap() == 0
    });
    running.signal(SIGINT);
    let run = running.finish_all().expect(130);
    assert!(run.stdout.contains("One of them"), "{run}");
    drop(reader);
}

#[test]
fn billions_of_rounds_begin_at_once() {
    let alone = Alone::with("");
    let running = alone.run().flags("--rounds 4294967295").start();
    let lines = || fs::read_to_string(alone.out()).map_or(0, |text| text.lines().count());
    until("two rounds are over", || lines() > 2);
    running.signal(SIGINT);
    let run = running.finish_all().expect(130);
    assert!(run.stdout.contains("One of them"), "{run}");
}

#[test]
fn a_file_size_limit_leaves_the_tables() {
    let alone = Alone::with("");
    // 4 KiB: room for some records of a hundred, and for each of them alone.
    let run = alone.run_after("ulimit -f 8");
    let run = run.flags("--rounds 100").finish();
    let run = run
        .expect(1)
        .expect_complaint(&["File too large", "out.jsonl"]);
    assert!(run.stdout.contains("One of them"), "{run}");
}

#[test]
fn records_that_vanish_are_missed() {
    let alone = Alone::with("");
    let gone = format!("cat '{}'\nrm -f out.jsonl", alone.path("record").display());
    script(&alone.path("one-thread-brigade"), &gone);
    let run = alone.run().finish().expect(1);
    let run = run.expect_complaint(&["out.jsonl was removed"]);
    assert!(run.stdout.contains("One of them"), "{run}");
    assert!(!run.stderr.contains("records: "), "{run}");
}

#[test]
fn a_lock_that_is_held_names_the_way_out() {
    let alone = Alone::with("");
    let path = alone.path("lock");
    let lock = File::create(&path).unwrap();
    lock.lock().unwrap();
    let running = alone.run().env("SWITCHCOST_LOCK", path.to_str()).start();
    until("it waits", || {
        running.stderr_so_far().contains("SWITCHCOST_LOCK=none")
    });
    running.signal(SIGINT);
    running.finish_all().expect(130);
}

#[test]
fn a_parent_that_ignores_its_children_does_not_matter() {
    let alone = Alone::with("");
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
    let run = unsafe { alone.run().prepared(ignored) };
    let run = run.finish().expect(0);
    assert!(run.stdout.contains("One of them"), "{run}");
}
