//! Reasons why an event cannot be counted, and the settings that would allow it.

use std::io;

use crate::source::Source;

/// Cause, and remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) cause: String,
    pub(super) remedy: Option<String>,
}

fn reason(cause: impl Into<String>, remedy: Option<&str>) -> Reason {
    Reason { cause: cause.into(), remedy: remedy.map(str::to_owned) }
}

const PARANOID: &str = "sudo sysctl -w kernel.perf_event_paranoid=1, or CAP_PERFMON";

/// Reason for an error of perf_event_open(2), or of a later call on its descriptor.
pub(super) fn of(error: &io::Error, is_hardware: bool) -> Reason {
    // perf_allow_kernel and perf_allow_cpu in include/linux/perf_event.h.
    let paranoid = || Source::system().number("/proc/sys/kernel/perf_event_paranoid").ok();
    match error.raw_os_error() {
        Some(libc::EACCES) => no_right(paranoid()),
        Some(libc::EPERM) => reason(
            "perf_event_open(2) is forbidden, as by the system-call filter of a container",
            Some("run it outside of the container"),
        ),
        Some(libc::ENOSYS) => reason(
            "there is no perf_event_open(2): a kernel without CONFIG_PERF_EVENTS, or a system-call filter",
            None,
        ),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::EINVAL) if is_hardware => {
            reason("this machine has no such hardware counter, as most virtual machines", None)
        }
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::EINVAL) => {
            reason(format!("this kernel has no such event: {error}"), None)
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            reason("no descriptors are left", Some("raise ulimit -n"))
        }
        _ => reason(format!("perf_event_open(2): {error}"), None),
    }
}

fn no_right(paranoid: Option<i32>) -> Reason {
    match paranoid {
        Some(level @ 2..) => {
            reason(format!("kernel.perf_event_paranoid is {level}"), Some(PARANOID))
        }
        _ => reason(
            "CAP_PERFMON is missing, or a security module forbids it",
            Some("run it as root"),
        ),
    }
}

/// The hardware counter was never on.
pub(super) fn never_on() -> Reason {
    reason("the CPU has too few counters: this one was never on", Some("count more iterations"))
}

/// The threads cannot be listed.
pub(super) fn no_threads() -> Reason {
    reason("the program has no thread that can be seen in /proc", None)
}

/// Events of a CPU may not be counted, or not all of them.
pub(super) fn by_cpu() -> Reason {
    reason(
        "this user may not count by CPU, or too few descriptors are left",
        Some("sudo sysctl -w kernel.perf_event_paranoid=0, or run it as root"),
    )
}

/// A counter for each thread takes more descriptors than may be opened.
pub(super) fn descriptors(needed: u64, spare: u64) -> Reason {
    reason(
        format!("all events of all threads need {needed} descriptors, and {spare} may be opened"),
        Some("raise ulimit -n, or run it as root, who may count by CPU"),
    )
}

/// The tracepoints of system calls cannot be found.
pub(super) fn tracefs(refused: bool, mounted: bool) -> Reason {
    match (refused, mounted) {
        (true, _) => reason(
            "only root may read tracefs (/sys/kernel/tracing), which numbers the events of system calls",
            Some("run it as root"),
        ),
        (false, true) => {
            reason("this kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)", None)
        }
        (false, false) => reason(
            "tracefs is not mounted",
            Some("sudo mount -t tracefs nodev /sys/kernel/tracing"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_named_where_it_is_the_cause() {
        for level in [2, 3, 4] {
            let found = no_right(Some(level));
            assert!(found.cause.ends_with(&format!("is {level}")), "{found:?}");
            assert_eq!(found.remedy.as_deref(), Some(PARANOID));
        }
        for level in [Some(1), None] {
            assert_eq!(no_right(level).remedy.as_deref(), Some("run it as root"));
        }
    }

    #[test]
    fn errors_have_causes() {
        let of = |code, hardware| of(&io::Error::from_raw_os_error(code), hardware).cause;
        assert!(of(libc::ENOENT, true).contains("no such hardware counter"));
        assert!(of(libc::EINVAL, false).contains("no such event"));
        assert!(of(libc::EPERM, false).contains("forbidden"));
        assert!(of(libc::EMFILE, false).contains("descriptors"));
        assert!(of(libc::EIO, false).contains("Input/output error"));
    }
}
