//! What programs of this workspace promise, those of the last section of docs/CONTRACT.md included. `switchcost check` asks
//! for the rest, once for each implementation of the contract.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use contract::message::{Answer, Description, Needs};
use nix::sys::signal::Signal::{SIGINT, SIGTERM};
use record::{Setting, Why};
use switchcost::check::{Candidate, check};

use crate::support::process::{Outcome, Run};
use crate::support::{build, is_installed, skip, until};

/// A program, with flags that keep it small.
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) flags: &'static str,
}

/// Answers that a controlled run printed.
pub(super) fn answers(lines: &str) -> Vec<Answer> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

impl Program {
    /// A program of this workspace.
    pub(super) fn of(name: &str, flags: &'static str) -> Self {
        Program { path: build().join(name), flags }
    }

    pub(super) fn candidate(&self) -> Candidate {
        let flags = self.flags.split_whitespace().map(str::to_owned).collect();
        let timeout = Duration::from_secs(60);
        let executable = self.path.clone().into();
        Candidate { executable, flags, timeout, setting: Setting::default() }
    }

    /// A run of three tasks.
    pub(super) fn run(&self, flags: &str) -> Run {
        Run::of(&self.path).flags("--tasks 3 --warmup 2").flags(self.flags).flags(flags)
    }

    fn description(&self, tasks: u64) -> Description {
        let run = Run::of(&self.path).flags(self.flags).flags("--describe --tasks");
        serde_json::from_str(run.arg(tasks.to_string()).finish().expect(0).line()).unwrap()
    }

    /// Makes some of the checks of `switchcost check`.
    pub(super) fn follows_the_contract(&self, is_wanted: impl Fn(&str) -> bool) {
        for (check, outcome) in check(&self.candidate(), is_wanted) {
            let name = format!("{} {}: {check}", self.path.display(), self.flags);
            match outcome {
                Ok(_) => {}
                Err(Why::LeftOut(why)) => skip(&format!("{name}: {why}")),
                Err(Why::Failed(why)) => panic!("{name}: {why}"),
            }
        }
    }

    /// No thread has a turn in a hold, a program that does the work itself counts its usage, and its end is timed.
    pub(super) fn rests_completely(&self) {
        let mut live = self.candidate().ready().unwrap();
        let usage = live.run(3, None).unwrap().usage;
        let pids = live.hold().unwrap();
        let is_fresh = self.description(3).fresh;
        assert_eq!(usage.is_some(), is_fresh || pids == [live.pid().as_raw()]);
        until("it rests", || rests(&pids));
        let (teardown_ns, _) = live.take_down().unwrap();
        assert!(teardown_ns.is_some());
        live.wait().unwrap().expect(0).unwrap();
    }

    /// The run under way is cut short, those behind it do not begin, and `ended` is the last line.
    pub(super) fn ends_at_a_signal(&self) {
        let run = self.run("--controlled").input(&"run 10000\n".repeat(1000)).start();
        until("it is ready", || run.stdout_so_far().contains("\"ready\""));
        run.send(SIGTERM);
        let outcome = run.finish().expect(128 + SIGTERM as i32);
        let all = answers(&outcome.stdout);
        let [rest @ .., Answer::Ended { .. }] = &all[..] else { panic!("{outcome}") };
        let is_short = |answer: &Answer| matches!(answer, Answer::Ran { samples_ns, .. } if samples_ns.len() < 10000);
        let short = rest.iter().position(is_short);
        assert!(short.is_none_or(|at| at + 1 == rest.len()), "it goes on: {outcome}");

        let mut live = self.candidate().ready().unwrap();
        live.hold().unwrap();
        live.signal(SIGTERM).unwrap();
        let exit = live.wait().unwrap().expect(128 + SIGTERM as i32).unwrap();
        let all = answers(&exit.lines.join("\n"));
        assert!(matches!(all[..], [Answer::Ended { .. }]), "{exit}");
    }

    /// Memory that is refused is an error, wherever the program notices. Below some size none can be started.
    pub(super) fn says_that_memory_is_refused(&self) {
        for mib in [8, 12, 16, 24, 40, 64, 100, 160] {
            let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", mib << 10);
            let run = Run::within(&script, &self.path).flags("--tasks 3 --warmup 0 --iters 1");
            let outcome = run.flags(self.flags).finish();
            let is_said = outcome.code == 0 || !outcome.stderr.is_empty();
            assert!(is_said && [0, 1, 127].contains(&outcome.code), "{mib} MiB: {outcome}");
        }
    }

    /// Whether or not the machine can run it.
    pub(super) fn describes_itself_on_one_cpu(&self) {
        let cpu = observe::affinity::allowed().unwrap()[0];
        let script = format!("exec taskset -c {cpu} \"$0\" \"$@\"");
        let run = Run::within(&script, &self.path).flags("--describe").flags(self.flags);
        run.finish().expect_quiet_success();
    }

    /// The original's two lines, and some more.
    pub(super) fn expect_result(&self, outcome: &Outcome) {
        let lines: Vec<_> = outcome.stdout.lines().collect();
        let [first, second, rows @ ..] = &lines[..] else { panic!("{outcome}") };
        assert_eq!(*first, "3 tasks, 5 iterations:");
        let forms = [
            ("s per iteration, stddev ", "s per task per iter)"),
            ("s per request, stddev ", " requests per iteration)"),
        ];
        let is_mean =
            forms.iter().any(|(part, end)| second.contains(part) && second.ends_with(end));
        assert!(is_mean && second.starts_with("mean "), "{outcome}");
        assert!(rows.iter().all(|row| row.chars().count() <= 120), "{outcome}");
    }

    /// Too many tasks for a limit are refused with the number that fits, which then does fit.
    fn names_low_limit(&self, limit: &str, script: &str) {
        let run = |tasks: u64, flags: &str| {
            let run = Run::within(script, &self.path).flags("--warmup 0 --tasks");
            run.arg(tasks.to_string()).flags(self.flags).flags(flags).finish()
        };
        let words = [limit, "at most ", " tasks fit", "switchcost limits", "--tasks 5000"];
        let refusal = run(5000, "--iters 1").expect_refusal(1, &words);
        let controlled = run(5000, "--controlled").expect(1);
        assert!(words.iter().all(|word| controlled.line().contains(word)), "{controlled}");
        let fits = refusal.stderr.split("at most ").nth(1).and_then(|rest| rest.split(' ').next());
        let fits = fits.unwrap().parse().unwrap();
        run(fits, "--iters 1").expect(0);
        run(fits + 1, "--iters 1").expect(1);
    }
}

/// Whether next to none of the threads had a turn for a while. Whoever handed on last may still be on its way to
/// sleep.
fn rests(pids: &[i32]) -> bool {
    let (before, begun) = (observe::usage::totals(pids).unwrap(), Instant::now());
    thread::sleep(Duration::from_millis(300));
    let usage = observe::usage::totals(pids).unwrap().since(&before);
    // The driver may look at the clock once a second. The kernel interrupts it, some ms after a ring that it had was
    // closed, for what is left to take down (io_ring_exit_work, io_uring/io_uring.c).
    let most = 3 + begun.elapsed().as_secs();
    usage.is_some_and(|u| u.voluntary_switches + u.involuntary_switches <= most)
}

/// One of a thread for each task, one of several processes, and one of a runtime.
#[test]
fn a_limit_that_is_too_low_is_named_with_the_tasks_that_fit() {
    // Tests of one process run at the same time, and a limit counts all processes of a user.
    static USERS: AtomicU32 = AtomicU32::new(0);
    for name in ["thread-brigade", "process-brigade", "async-brigade"] {
        let program = Program::of(name, "");
        let Needs { descriptors, threads, .. } = program.description(3).needs;
        if descriptors.each > 0 {
            program.names_low_limit("ulimit -Hn", "ulimit -n 64; exec \"$0\" \"$@\"");
        }
        if threads.each == 0 {
            continue;
        }
        let user = 2_000_000_000 + 500 * process::id() + USERS.fetch_add(1, Ordering::Relaxed);
        let as_user = format!("setpriv --reuid={user} --regid={user} --clear-groups");
        let most = threads.fixed + 20;
        let script = format!("exec prlimit --nproc={most} {as_user} \"$0\" \"$@\"");
        // This takes root, and folders that any user can enter.
        let probe = Run::within(&script, &program.path).arg("--version").finish();
        if probe.code == 0 {
            program.names_low_limit("ulimit -u", &script);
        } else {
            skip(&format!("to become a user without processes: {}", probe.stderr));
        }
    }
}

/// What was measured is printed, and standard error says that it is not all.
#[test]
fn a_signal_ends_a_program_that_is_alone() {
    for signal in [SIGINT, SIGTERM] {
        let run = Program::of("thread-brigade", "").run("--iters 1000000000").start();
        run.signal(signal);
        let outcome = run.finish().expect(128 + signal as i32);
        let outcome = outcome.expect_complaint(&["interrupted"]);
        assert!(outcome.stderr.lines().count() == 1 && outcome.stderr.len() < 1000, "{outcome}");
        // It may not have come to the first iteration.
        if let Some(size) = outcome.stdout.lines().next() {
            assert_eq!(size, "3 tasks, 1000000000 iterations:", "{outcome}");
        }
        if let Some(last) = outcome.stdout.lines().skip(1).last() {
            assert!(last.starts_with("note        interrupted after "), "{outcome}");
            assert!(outcome.stderr.contains(&last[12..]), "{outcome}");
        }
    }
}

/// A single sample has no spread, and what its time contains is said.
#[test]
fn one_sample_has_no_spread() {
    let run = Program::of("sleepers", "--sleep 1ms").run("--iters 1");
    let outcome = run.finish().expect(0);
    let [first, second, rows @ ..] = &outcome.stdout.lines().collect::<Vec<_>>()[..] else {
        panic!("{outcome}")
    };
    assert!(*first == "3 tasks, 1 iterations:" && !second.contains("stddev"), "{outcome}");
    let row = |name: &str| rows.iter().find_map(|row| row.strip_prefix(name)).map(str::trim);
    assert!(row("iteration ").is_none(), "{outcome}");
    assert!(row("alive count ").unwrap().parse::<u64>().is_ok(), "{outcome}");
    assert!(row("note ").unwrap().contains("the sleep of 1.000ms"), "{outcome}");
}

/// Sleepers that have ended need less than those that sleep: limits at which a million threads ran are enough.
#[test]
fn a_million_sleeping_threads_fit_where_they_ran() {
    let program = Program::of("sleepers", "--stack-size 2MiB");
    let Needs { threads, maps, .. } = program.description(1_000_000).needs;
    assert!(
        threads.of_tasks(1_000_000) < 32_768 && maps.of_tasks(1_000_000) < 4_000_000,
        "{threads:?} {maps:?}"
    );
}

/// A fault of a task, or of the driver, is reported by its true cause.
#[test]
fn a_fault_is_named() {
    let program = Program::of("examples/faulty-brigade", "");
    for (fault, words) in [
        ("fail", "task 1: fails"),
        ("panic", "task 1: panics (a panic"),
        ("absent", "task 1: is absent"),
        // The token says what came out, and not which task changed it.
        ("corrupt", "token 0 came out as"),
        ("miscount", "tokens, expected"),
        ("panic --at 9", "panics (a panic"),
    ] {
        let run = program.run(&format!("--controlled --fault {fault}"));
        let outcome = run.input("run 50\nend\n").finish().expect(1);
        let Some(Answer::Failed { error }) = answers(&outcome.stdout).pop() else {
            panic!("{outcome}")
        };
        assert!(error.contains(words) && outcome.stderr.is_empty(), "{fault}: {outcome}");
    }
}

/// It has nothing to lose yet.
#[test]
fn a_first_signal_ends_a_program_that_has_measured_nothing() {
    let path = Program::of("examples/faulty-brigade", "").path;
    let run = Run::of(&path).flags("--tasks 3 --warmup 1000 --fault hang").start();
    run.signal(SIGTERM);
    let outcome = run.finish().expect(128 + SIGTERM as i32);
    outcome.expect_complaint(&["interrupted before the first iteration"]);
}

#[test]
fn a_second_signal_ends_a_program_that_is_stuck() {
    // The first signal may come before it hangs, and ends it.
    until("it hung", || {
        let run = Program::of("examples/faulty-brigade", "").run("--controlled --fault hang");
        let run = run.input("run 1000\n").start();
        run.await_handler(SIGINT);
        thread::sleep(Duration::from_millis(200));
        // Two within half a second count as one.
        until("a further signal ends it", || {
            run.send(SIGINT);
            thread::sleep(Duration::from_millis(600));
            run.has_ended()
        });
        run.finish().expect(130).stderr.contains("interrupted again")
    });
}

/// Standard output that takes nothing is an error. A reader that has seen enough, such as head(1), is none.
#[test]
fn output_that_takes_nothing_is_an_error() {
    let program = Program::of("thread-brigade", "");
    for flags in ["--describe", "--controlled", "--iters 3"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let outcome = program.run(flags).output(full).finish().expect(1);
        assert!(!outcome.stderr.is_empty(), "{outcome}");
    }
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    program.run("--iters 3").output(writer).finish().expect_quiet_success();
}

/// It runs while all tasks are there, and its failure is one.
#[test]
fn a_command_runs_beside_the_tasks() {
    let run = |command: &str| {
        let run = Program::of("thread-brigade", "").run("--iters 2 --quiet --command");
        run.arg(command).finish()
    };
    let outcome = run("ls /proc/{pid}/task | wc -l").expect(0);
    assert_eq!(outcome.line().trim(), "4", "three tasks and the driver: {outcome}");
    run("exit 3").expect(1).expect_complaint(&["--command", "3"]);
    if is_installed("setsid") {
        let outcome = run("setsid sleep 1000 >/dev/null 2>&1 &").expect(0);
        outcome.expect_complaint(&["--command left processes running, and they were ended: "]);
    }
}

/// The page of a program names what else a reader needs, and that is little: tests in a file do not count.
#[test]
fn the_page_of_a_program_names_what_else_to_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for program in [
        "thread-brigade",
        "async-brigade",
        "one-thread-brigade",
        "async-mem-brigade",
        "thread-creation",
        "async-creation",
    ] {
        let page = fs::read_to_string(root.join(program).join("src/main.rs")).unwrap();
        let head: String = page.lines().map_while(|line| line.strip_prefix("//!")).collect();
        let named = head.split("read this page and ").nth(1).unwrap();
        let mut lines = 0;
        for files in named.split(": the rest").next().unwrap().split(", lib/") {
            let (folder, names) = files.rsplit_once('/').unwrap();
            for name in names.trim_end_matches(".rs").trim_matches(['{', '}']).split(',') {
                let path = root.join("lib").join(folder.trim_start_matches("lib/"));
                let text = fs::read_to_string(path.join(name).with_extension("rs")).unwrap();
                lines += text.lines().take_while(|line| *line != "#[cfg(test)]").count();
            }
        }
        assert!((1..=500).contains(&lines), "{program}: {lines} lines");
    }
}
