//! Reasons why an event cannot be counted, and the settings that would allow it.

use std::io;

use crate::source::Source;

/// Cause, and remedy if there is one.
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
    match error.raw_os_error() {
        Some(libc::EACCES) => {
            no_right(Source::system().number("/proc/sys/kernel/perf_event_paranoid").ok())
        }
        Some(libc::EPERM) => reason(
            "perf_event_open(2) is forbidden, as by the system-call filter of a container",
            Some("run it outside of the container"),
        ),
        Some(libc::ENOSYS) => reason(
            "there is no perf_event_open(2): a kernel without CONFIG_PERF_EVENTS, or a system-call filter",
            None,
        ),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::EINVAL) => {
            let none = "this machine has no such hardware counter, as most virtual machines";
            let other = format!("this kernel has no such event: {error}");
            reason(if is_hardware { none.to_owned() } else { other }, None)
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

/// Events of a CPU may not be counted.
pub(super) fn by_cpu() -> Reason {
    reason(
        "this user may not count by CPU, as it takes for so many threads, or for those that begin meanwhile",
        Some("sudo sysctl -w kernel.perf_event_paranoid=0, run it as root, or raise ulimit -n"),
    )
}

/// The tracepoints of system calls cannot be found.
pub(super) fn tracefs() -> Reason {
    reason(
        "tracefs (/sys/kernel/tracing) shows no system calls: it is not mounted, or for root alone",
        Some("sudo mount -t tracefs nodev /sys/kernel/tracing, and run it as root"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_causes() {
        assert_eq!(no_right(Some(3)).remedy.as_deref(), Some(PARANOID));
        assert_eq!(no_right(Some(1)).remedy.as_deref(), Some("run it as root"));
        for (code, is_hardware, words) in [
            (libc::ENOENT, true, "no such hardware counter"),
            (libc::EINVAL, false, "no such event"),
            (libc::EPERM, false, "forbidden"),
            (libc::EMFILE, false, "descriptors"),
            (libc::EIO, false, "Input/output error"),
        ] {
            let found = of(&io::Error::from_raw_os_error(code), is_hardware);
            assert!(found.cause.contains(words), "{found:?}");
        }
    }
}
