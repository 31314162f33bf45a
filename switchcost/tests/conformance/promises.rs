//! Promises that docs/CONTRACT.md marks *Rust*: `switchcost check` does not ask for them.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use contract::message::{Answer, Description};
use nix::sys::signal::Signal::{self, SIGHUP, SIGINT, SIGTERM};
use switchcost::check::Candidate;

use crate::support::process::{Outcome, Run};
use crate::support::{is_installed, skip, until};

const SIGNALS: [Signal; 3] = [SIGINT, SIGTERM, SIGHUP];

/// A program of this workspace, with flags that keep it small, and faults that its `--test-fault` knows.
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) flags: &'static str,
    pub(super) faults: &'static str,
}

/// Answers that a controlled run printed.
fn answers(lines: &str) -> Vec<Answer> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Expects one line on standard error.
fn expect_one_complaint(outcome: &Outcome) {
    assert!(outcome.stderr.lines().count() == 1 && outcome.stderr.len() < 1000, "{outcome}");
}

impl Program {
    pub(super) fn candidate(&self) -> Candidate {
        let flags = self.flags.split_whitespace().map(str::to_owned).collect();
        let timeout = Duration::from_secs(60);
        Candidate { executable: self.path.clone().into(), flags, timeout }
    }

    /// A run of three tasks.
    fn run(&self, flags: &str) -> Run {
        Run::of(&self.path).flags("--tasks 3 --warmup 2").flags(self.flags).flags(flags)
    }

    fn description(&self, tasks: u64) -> Description {
        let run = Run::of(&self.path).flags(self.flags).flags("--describe --tasks");
        serde_json::from_str(run.arg(tasks.to_string()).finish().expect(0).line()).unwrap()
    }

    /// Promises that programs keep each in its own way.
    pub(super) fn keeps_its_promises(&self) {
        self.reports_usage_and_times();
        self.rests_completely();
        if self.flags.is_empty() {
            self.names_low_limits();
        }
        self.prints_a_result();
        for fault in self.faults.split_whitespace() {
            self.names_the_cause(fault);
        }
    }

    /// Promises that all of them keep by the same code.
    pub(super) fn keeps_those_of_all(&self) {
        self.refuses_further_flags();
        self.ends_at_a_signal_when_controlled();
        self.ends_at_a_signal_when_alone();
        self.ends_at_a_second_signal();
        self.misses_its_output();
        self.obeys_the_common_flags();
        self.runs_a_command();
    }

    fn reports_usage_and_times(&self) {
        let description = self.description(3);
        assert_eq!(description.program, self.path.file_name().unwrap().to_str().unwrap());
        let runs = description.passes.iter().map(|pass| format!("run 3 {}\n", pass.name));
        let requests = runs.collect::<String>() + "end\n";
        let outcome = self.run("--controlled").input(&requests).start().finish_all();
        let outcome = outcome.expect_quiet_success();
        let all = answers(&outcome.stdout);
        let [Answer::Ready { pids, .. }, runs @ .., Answer::Ended { teardown_ns: Some(_), .. }] =
            &all[..]
        else {
            panic!("{outcome}");
        };
        let has_usage = |run: &Answer| matches!(run, Answer::Ran { usage: Some(_), .. });
        assert!(pids.len() > 1 || runs.iter().all(has_usage), "{outcome}");
    }

    /// No thread has a turn in a hold, and `needs` covers all that there is.
    fn rests_completely(&self) {
        const TASKS: u64 = 40;
        let needs = self.description(TASKS).needs;
        let mut live = self.candidate().start_tasks(TASKS, "--warmup 2 --controlled").unwrap();
        live.attempt(|session| session.ready(None)).unwrap();
        live.run(3, None).unwrap();
        let pids = live.hold().unwrap();
        let entries = |folder: &str| {
            let count = |pid| fs::read_dir(format!("/proc/{pid}/{folder}")).unwrap().count() as u64;
            pids.iter().map(count).collect::<Vec<_>>()
        };
        let descriptors = entries("fd").into_iter().max().unwrap();
        let threads = entries("task").iter().sum::<u64>() - 1;
        let maps = fs::read_to_string(format!("/proc/{}/maps", pids[0])).unwrap();
        let maps = maps.lines().count() as u64;
        // A process starts with some descriptors and threads, and with maps of its libraries and its stack.
        assert!(descriptors <= needs.descriptors.of(TASKS) + 16, "{descriptors}: {needs:?}");
        assert!(threads <= needs.threads.of(TASKS) + 16, "{threads} threads: {needs:?}");
        assert!(maps <= needs.maps.of(TASKS) + 64, "{maps} maps: {needs:?}");

        // Whoever handed on last may still be on its way to sleep.
        until("it rests", || {
            let (before, begun) = (facts::usage::totals(&pids).unwrap(), Instant::now());
            thread::sleep(Duration::from_millis(300));
            let usage = facts::usage::totals(&pids).unwrap().since(&before);
            // The driver may look at the clock once a second. The kernel interrupts it, some ms after a ring
            // that it had was closed, for what is left to take down (io_ring_exit_work,
            // io_uring/io_uring.c): compio closes one that it asks for the operations that there are.
            let most = 3 + begun.elapsed().as_secs();
            usage.is_some_and(|u| u.voluntary_switches + u.involuntary_switches <= most)
        });
        live.finish().unwrap().expect(0).unwrap();
    }

    fn refuses_further_flags(&self) {
        for flags in [
            "--iters 0",
            "--controlled --describe",
            "--controlled --iters 3",
            "--controlled --quiet",
            "--describe --quiet",
            // Creation alone has these, and they do not go together.
            "--floor --gate",
            "--describe=",
            "--tasks 1 --tasks 2",
            "--command",
            "--test-fault boredom@1",
            "--test-fault fail@999999999",
        ] {
            let outcome = Run::of(&self.path).flags(flags).finish();
            expect_one_complaint(&outcome.expect_refusal(2, &[]));
        }
    }

    /// Too many tasks for some limit are refused with the number that fits, which then does fit.
    fn names_low_limits(&self) {
        let needs = self.description(3).needs;
        if needs.descriptors.each > 0 {
            self.names_low_limit("ulimit -Hn", "ulimit -n 64; exec \"$0\" \"$@\"");
        }
        if needs.threads.each == 0 {
            return;
        }
        // Tests of one process run at the same time, and a limit counts all processes of a user.
        static USERS: AtomicU32 = AtomicU32::new(0);
        let user = 2_000_000_000 + 500 * process::id() + USERS.fetch_add(1, Ordering::Relaxed);
        let most = needs.threads.fixed + 20;
        let as_user = format!("setpriv --reuid={user} --regid={user} --clear-groups");
        let script = format!("exec prlimit --nproc={most} {as_user} \"$0\" \"$@\"");
        // This takes root, and folders that any user can enter.
        let probe = Run::within(&script, &self.path).arg("--version").finish();
        if probe.code == 0 {
            self.names_low_limit("ulimit -u", &script);
        } else {
            skip(&format!("to become a user without processes: {}", probe.stderr));
        }
    }

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
        if fits > 0 {
            run(fits, "--iters 1").expect(0);
        }
        run(fits + 1, "--iters 1").expect(1);
    }

    /// The run under way is cut short, those behind it do not begin, and `ended` is the last line.
    fn ends_at_a_signal_when_controlled(&self) {
        for (signal, delay) in SIGNALS.into_iter().zip([0, 30, 30].map(Duration::from_millis)) {
            let run = self.run("--controlled").input(&"run 10000\n".repeat(1000)).start();
            run.await_handler(signal);
            thread::sleep(delay);
            run.send(signal);
            let outcome = run.finish_all().expect(128 + signal as i32);
            let all = answers(&outcome.stdout);
            let [rest @ .., Answer::Ended { .. }] = &all[..] else { panic!("{outcome}") };
            let is_short = |answer: &Answer| matches!(answer, Answer::Ran { samples_ns, .. } if samples_ns.len() < 10000);
            let short = rest.iter().position(is_short);
            assert!(short.is_none_or(|at| at + 1 == rest.len()), "it goes on: {outcome}");

            let mut live = self.candidate().ready().unwrap();
            live.hold().unwrap();
            live.signal(signal).unwrap();
            let exit = live.wait().unwrap().expect(128 + signal as i32).unwrap();
            let all = answers(&exit.lines.join("\n"));
            assert!(matches!(all[..], [Answer::Ended { .. }]), "{exit}");
        }
    }

    /// Alone, what was measured is printed, and standard error says that it is not all.
    fn ends_at_a_signal_when_alone(&self) {
        for signal in SIGNALS {
            let run = self.run("--iters 1000000000").start();
            run.await_handler(signal);
            thread::sleep(Duration::from_millis(50));
            run.send(signal);
            let outcome = run.finish_all().expect(128 + signal as i32);
            let outcome = outcome.expect_complaint(&["interrupted", "1000000000"]);
            expect_one_complaint(&outcome);
            // A slow machine may not have come to the first iteration.
            if let Some(first) = outcome.stdout.lines().next() {
                let is_part = first.starts_with("3 tasks, ") && !first.contains(" 1000000000 ");
                assert!(is_part, "{outcome}");
            }
        }
    }

    /// A second signal ends a program that is stuck.
    fn ends_at_a_second_signal(&self) {
        for flags in ["--controlled", "--iters 1000"] {
            let mut head_start = Duration::from_millis(100);
            loop {
                let run = self.run(flags).flags("--test-fault hang@1").input("run 1000\n").start();
                run.await_handler(SIGTERM);
                thread::sleep(head_start);
                run.send(SIGINT);
                // Two within half a second count as one, and a busy machine may hand both over together.
                until("a further signal ends it", || {
                    thread::sleep(Duration::from_millis(700));
                    run.send(SIGTERM);
                    run.has_ended()
                });
                let outcome = run.finish_all().expect(130);
                // On a slow machine the first signal may come before it hangs, and ends it.
                if outcome.stderr.contains("interrupted again") {
                    break;
                }
                assert!(head_start < Duration::from_secs(5), "{outcome}");
                head_start *= 3;
            }
        }
    }

    /// Standard output that takes nothing is an error. A reader that has seen enough, such as head(1), is none.
    fn misses_its_output(&self) {
        for flags in ["--describe", "--controlled", "--iters 3"] {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let outcome = self.run(flags).finish_into(full).expect(1);
            assert!(!outcome.stderr.is_empty(), "{outcome}");
            let closed = Run::within("exec \"$0\" \"$@\" >&-", &self.path).flags("--tasks 3");
            let outcome = closed.flags(self.flags).flags(flags).finish().expect(1);
            outcome.expect_complaint(&["output is closed"]);
        }
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        self.run("--iters 3").finish_into(writer).expect_quiet_success();
    }

    /// The original's two lines, and at most four more; one for each distribution of its own.
    fn prints_a_result(&self) {
        let outcome = self.run("--iters 5").finish().expect_quiet_success();
        let lines: Vec<_> = outcome.stdout.lines().collect();
        let [first, second, rows @ ..] = &lines[..] else { panic!("{outcome}") };
        assert_eq!(*first, "3 tasks, 5 iterations:");
        let is_mean = second.starts_with("mean ") && second.ends_with("s per task per iter)");
        assert!(is_mean && second.contains("s per iteration, stddev "), "{outcome}");
        let common = ["per hop", "iteration", "cpu time", "switches"];
        let is_common = |row: &&&str| common.iter().any(|name| row.starts_with(name));
        assert!(rows.iter().filter(is_common).count() <= 4, "{outcome}");
        assert!(rows.iter().all(|row| row.chars().count() <= 120), "{outcome}");
    }

    fn obeys_the_common_flags(&self) {
        let quiet = self.run("--iters 2 --quiet").finish().expect_quiet_success();
        assert!(quiet.stdout.is_empty(), "{quiet}");
        let one = Run::of(&self.path).flags("--tasks 1 --warmup 0 --iters 1");
        one.flags(self.flags).finish().expect(0);
        for flag in ["--help", "--version"] {
            let told = Run::of(&self.path).arg(flag).finish().expect_quiet_success();
            assert!(!told.stdout.is_empty(), "{told}");
        }
    }

    /// `--command` runs while all tasks are there, and its failure is one.
    fn runs_a_command(&self) {
        let most = 1 + self.description(3).needs.threads.of(3);
        let run = self.run("--iters 2 --quiet --command").arg("ls /proc/{pid}/task | wc -l");
        let outcome = run.finish().expect(0);
        let threads: u64 = outcome.line().trim().parse().unwrap();
        assert!((1..=most).contains(&threads), "{outcome}");
        let outcome = self.run("--iters 2 --command").arg("exit 3").finish();
        outcome.expect(1).expect_complaint(&["--command", "3"]);
        if is_installed("setsid") {
            let run = self.run("--iters 2 --command").arg("setsid sleep 1000 >/dev/null 2>&1 &");
            let outcome = run.start().finish_all().expect(0);
            outcome.expect_complaint(&["--command left processes running, which were ended: "]);
        }
    }

    /// A fault of a task is reported by its true cause.
    fn names_the_cause(&self, fault: &str) {
        let words = match fault {
            "fail" => "task 1: fails as --test-fault asks",
            // Where one thread does the work of all, it is the program that panics.
            "panic" => "ends as --test-fault asks (a panic",
            "absent" => "task 1: absent as --test-fault asks",
            "close" => "task 1 ended after it had passed on 3 tokens",
            // The token says what came out, and not who did it.
            "corrupt" => "expected",
            other => panic!("unknown fault: {other}"),
        };
        let run = |flags: &str| {
            let run = Run::of(&self.path).flags("--tasks 3 --warmup 0").flags(self.flags);
            let run = run.flags(&format!("--test-fault {fault}@1 {flags}"));
            run.input("run 50\n").start().finish_all()
        };
        let controlled = run("--controlled").expect(1);
        let last = answers(&controlled.stdout).pop();
        let Some(Answer::Failed { error }) = last else { panic!("{controlled}") };
        assert!(error.contains(words) && controlled.stderr.is_empty(), "{controlled}");
        expect_one_complaint(&run("--iters 50").expect(1).expect_complaint(&[words]));
    }
}
