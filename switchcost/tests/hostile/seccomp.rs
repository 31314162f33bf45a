//! System calls that a sandbox denies. The filter is a program for the kernel's packet filter, as
//! seccomp(2) describes it.

#![expect(
    unsafe_code,
    reason = "filters and limits are set between fork and exec"
)]

use std::io;
use std::os::raw::{c_long, c_ulong};

use libc::{EINVAL, ENOMEM, ENOSYS, EPERM, sock_filter, sock_fprog};

use harness::notes::Note;

use super::{Installed, TINY, mounted, mounts};
use crate::support::benchmarks::{all, with};
use crate::support::process::Run;
use crate::support::skip;

/// A system call that fails.
#[derive(Clone, Copy)]
struct Denial {
    name: &'static str,
    call: c_long,
    errno: i32,
    /// Of the calls, only those with something in this argument.
    with: Option<u32>,
}

const fn denial(name: &'static str, call: c_long, errno: i32) -> Denial {
    Denial {
        name,
        call,
        errno,
        with: None,
    }
}

/// What programs can do without.
const HARMLESS: [Denial; 11] = [
    denial("perf_event_open", libc::SYS_perf_event_open, EPERM),
    denial("perf_event_open", libc::SYS_perf_event_open, ENOSYS),
    denial("io_uring_setup", libc::SYS_io_uring_setup, EPERM),
    denial("io_uring_setup", libc::SYS_io_uring_setup, ENOSYS),
    // The C library falls back to clone(2).
    denial("clone3", libc::SYS_clone3, ENOSYS),
    denial("pidfd_open", libc::SYS_pidfd_open, ENOSYS),
    // Before Linux 5.9.
    denial("close_range", libc::SYS_close_range, ENOSYS),
    denial("close_range", libc::SYS_close_range, EPERM),
    denial("memfd_create", libc::SYS_memfd_create, EPERM),
    denial("setrlimit", SYS_SETRLIMIT, EPERM),
    Denial {
        name: "prlimit64, to set",
        call: libc::SYS_prlimit64,
        errno: EPERM,
        with: Some(2),
    },
];

/// Newer architectures have prlimit64 alone; a number that no call has denies nothing.
#[cfg(target_arch = "x86_64")]
const SYS_SETRLIMIT: c_long = libc::SYS_setrlimit;
#[cfg(not(target_arch = "x86_64"))]
const SYS_SETRLIMIT: c_long = -1;

const fn statement(code: u32, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

/// `yes` and `no` are how many statements are skipped.
const fn jump(code: u32, k: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: yes,
        jf: no,
        k,
    }
}

impl Denial {
    fn filter(self) -> Vec<sock_filter> {
        const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
        // struct seccomp_data: the number at 0, arguments of 8 bytes each from 16.
        let (low, high) = match self.with {
            Some(argument) => (16 + 8 * argument, 20 + 8 * argument),
            // The number again, which is not 0 where it is compared.
            None => (0, 0),
        };
        vec![
            statement(LOAD, 0),
            jump(EQUAL, self.call as u32, 0, 5),
            statement(LOAD, low),
            jump(EQUAL, 0, 0, 2),
            statement(LOAD, high),
            jump(EQUAL, 0, 1, 0),
            statement(RETURN, libc::SECCOMP_RET_ERRNO | self.errno as u32),
            statement(RETURN, libc::SECCOMP_RET_ALLOW),
        ]
    }

    /// A run in which the call is denied.
    fn apply(self, run: Run) -> Run {
        let filter = self.filter();
        let install = move || {
            let program = sock_fprog {
                len: filter.len() as u16,
                filter: filter.as_ptr().cast_mut(),
            };
            let (on, off): (c_ulong, c_ulong) = (1, 0);
            // SAFETY: prctl reads the filter, which lives as long as this closure.
            let done = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, off, off, off) == 0
                    && libc::prctl(
                        libc::PR_SET_SECCOMP,
                        libc::SECCOMP_MODE_FILTER as c_ulong,
                        &raw const program,
                    ) == 0
            };
            match done {
                true => Ok(()),
                false => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: two system calls and nothing else.
        unsafe { run.prepared(install) }
    }
}

/// Whether filters can be installed here, and do what they say.
fn filters_work() -> bool {
    // SAFETY: the name is a constant; the argument is no pointer.
    let offered = unsafe { libc::prctl(libc::PR_GET_SECCOMP) };
    if offered < 0 && io::Error::last_os_error().raw_os_error() == Some(EINVAL) {
        return false;
    }
    // The shell's ulimit asks for what is denied.
    let denied = HARMLESS[10].apply(Run::of("sh").arg("-c").arg("ulimit -n 5"));
    denied.finish().code != 0
}

#[test]
fn every_program_does_without_what_a_sandbox_denies() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    for denial in HARMLESS {
        for benchmark in all() {
            let run = denial.apply(benchmark.run(TINY)).finish();
            if benchmark.needs_io_uring() && denial.call == libc::SYS_io_uring_setup {
                continue;
            }
            let record = run.expect_quiet_success().record();
            assert_eq!(record.samples.unwrap().count, 4, "{}", denial.name);
            assert_eq!(record.machine.seccomp, Some(true), "{}", denial.name);
        }
    }
}

/// What it cannot do without is named, with what would help; nothing is measured in its place.
#[test]
fn a_ring_that_a_sandbox_denies_is_told() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    let denials = [
        denial("io_uring_setup", libc::SYS_io_uring_setup, EPERM),
        denial("io_uring_setup", libc::SYS_io_uring_setup, ENOSYS),
        denial("io_uring_register", libc::SYS_io_uring_register, EPERM),
    ];
    for benchmark in all().iter().filter(|b| b.needs_io_uring()) {
        for denial in denials {
            for executor in &benchmark.flags["--executor"] {
                let tiny = benchmark.tiny("--executor").arg(executor);
                let run = denial.apply(tiny).finish();
                let words = [
                    "io_uring is not available",
                    denial.name,
                    "seccomp",
                    "async-brigade",
                ];
                run.expect_refusal(1, &words);
            }
            let json = denial.apply(benchmark.run(TINY)).finish().expect(1);
            let record = json.record();
            assert!(record.error.is_some_and(|e| e.contains(denial.name)));
            assert!(record.samples.is_none() && record.partial);
            let limits = denial.apply(benchmark.tiny("--check-limits")).finish();
            limits.expect_quiet_success();
        }
        // A ring that can be set up, and not be entered.
        let denial = denial("io_uring_enter", libc::SYS_io_uring_enter, EPERM);
        let run = denial.apply(benchmark.tiny("--executor ring")).finish();
        run.expect_refusal(1, &["io_uring_enter", "not permitted"]);
    }
}

/// The filter stands for the kernel, which would refuse by itself; what is looked at is the setting.
#[test]
fn a_ring_that_a_setting_forbids_is_told_with_what_allows_it() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    if let Err(why) = mounts() {
        return skip(why);
    }
    let refused = denial("io_uring_setup", libc::SYS_io_uring_setup, EPERM);
    for benchmark in all().iter().filter(|b| b.needs_io_uring()) {
        for (value, words) in [(1, "io_uring_group"), (2, "forbids it to everybody")] {
            let folder = tempfile::tempdir().unwrap();
            let setting = folder.path().join("setting");
            std::fs::write(&setting, format!("{value}\n")).unwrap();
            let over = "/proc/sys/kernel/io_uring_disabled";
            let script = mounted(&format!("mount --bind {} {over}", setting.display()));
            let run = benchmark.within(&script, "--tasks 3 --iters 4");
            let run = refused.apply(run).finish();
            if run.code == 77 {
                return skip("nothing can be mounted over a kernel parameter");
            }
            let is = format!("kernel.io_uring_disabled is {value}");
            let remedy = "sysctl -w kernel.io_uring_disabled=0";
            run.expect_refusal(1, &["io_uring is not available", &is, words, remedy]);
        }
    }
}

#[test]
fn locked_memory_that_a_ring_finds_too_little_of_is_told() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    let short = denial("io_uring_setup", libc::SYS_io_uring_setup, ENOMEM);
    for benchmark in all().iter().filter(|b| b.needs_io_uring()) {
        let run = short.apply(benchmark.tiny("")).finish();
        run.expect_refusal(1, &["cannot set up the ring", "ulimit -l", "--tokens"]);
    }
}

/// A kernel that does not know a flag says EINVAL.
#[test]
fn a_ring_that_the_kernel_is_too_old_for_is_told_with_the_version() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    let old = denial("io_uring_setup", libc::SYS_io_uring_setup, EINVAL);
    for benchmark in all().iter().filter(|b| b.needs_io_uring()) {
        for (setup, version) in [
            ("plain", "5.7"),
            ("cooperative", "5.19"),
            ("single-issuer", "6.0"),
            ("deferred", "6.1"),
            ("sqpoll", "5.11"),
        ] {
            let run = old.apply(benchmark.tiny("--setup").arg(setup)).finish();
            let needed = format!("--setup {setup} needs Linux {version} or later");
            run.expect_refusal(1, &["io_uring is not available", &needed]);
        }
    }
}

/// The reason is told, and what needs no right is counted all the same.
#[test]
fn counters_that_are_denied_are_absent_with_a_reason() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    for (denial, words) in [
        (HARMLESS[0], "system-call filter of a container"),
        (HARMLESS[1], "no perf_event_open(2) here"),
    ] {
        for benchmark in with("--counters") {
            let run = denial.apply(benchmark.run(TINY).flags("--counters"));
            let record = run.finish().expect_quiet_success().record();
            let counters = record.counters.unwrap();
            assert_eq!((counters.events.len(), counters.scope), (0, None));
            assert!(counters.usage.is_some(), "{}", benchmark.name);
            let absent = counters.absent.iter();
            let told = absent.filter(|absent| absent.reason.contains(words));
            let told: usize = told.map(|absent| absent.events.len()).sum();
            assert!(told >= 11, "all but tracepoints: {:?}", counters.absent);
        }
    }
}

/// Both as sandboxes answer: Docker's, and older ones.
#[test]
fn bare_threads_are_created_by_the_older_call_and_a_note_says_so() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    for benchmark in with("--floor").filter(|benchmark| benchmark.has_threads()) {
        for errno in [ENOSYS, EPERM] {
            let denial = denial("clone3", libc::SYS_clone3, errno);
            let run = denial.apply(benchmark.run(TINY).arg("--floor")).finish();
            let record = run.expect_quiet_success().record();
            assert_eq!(record.samples.unwrap().count, 4);
            let note = record.notes.iter().find_map(|note| match note {
                Note::Instead { refused, called } => Some((refused.as_str(), called.as_str())),
                _ => None,
            });
            assert_eq!(note, Some(("clone3(2)", "clone(2)")));
        }
        let record = benchmark.run(TINY).arg("--floor").finish().record();
        let is_instead = |note: &Note| matches!(note, Note::Instead { .. });
        assert!(!record.notes.iter().any(is_instead), "clone3 is there");
    }
}

#[test]
fn the_runner_does_without_them_too() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    let installed = Installed::new();
    for denial in HARMLESS {
        let run = denial.apply(installed.plan(r#"exec "$0" "$@""#)).finish();
        let run = run.expect(0);
        assert!(run.stdout.contains("÷ task"), "{}: {run}", denial.name);
        assert!(!run.stdout.contains("failed"), "{}: {run}", denial.name);
    }
}

#[test]
fn a_placement_that_may_not_be_made_is_told() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    let denial = denial("sched_setaffinity", libc::SYS_sched_setaffinity, EPERM);
    for benchmark in all() {
        let measured = denial.apply(benchmark.run(TINY)).finish();
        measured.expect_quiet_success();
        if crate::support::cpus() < 2 {
            continue;
        }
        let refused = denial.apply(benchmark.tiny("--placement one-cpu")).finish();
        refused.expect_refusal(1, &["cannot set the CPUs", "EPERM"]);
    }
}

#[test]
fn more_descriptors_than_may_be_had_are_told() {
    if !filters_work() {
        return skip("no seccomp filter can be installed");
    }
    for benchmark in all().iter().filter(|b| b.has_descriptors()) {
        let lower = || {
            let limit = libc::rlimit {
                rlim_cur: 64,
                rlim_max: 4096,
            };
            // SAFETY: setrlimit reads a structure that outlives the call.
            match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        let prepared = |flags: &str| {
            // SAFETY: one system call and nothing else.
            let run = unsafe { benchmark.run(flags).prepared(lower) };
            HARMLESS[10].apply(run).finish()
        };
        prepared("--tasks 3 --iters 2").expect(0);
        let words = ["soft descriptor limit", "64", "ulimit -n"];
        prepared("--tasks 100 --iters 2").expect_refusal(1, &words);
    }
}
