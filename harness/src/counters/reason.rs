//! Why an event cannot be counted, and what would allow it.

use std::{fs, io};

/// What keeps a counter from being opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The kernel asks for more rights (EACCES); with `kernel.perf_event_paranoid` (perf_allow_kernel
    /// and perf_allow_cpu in its include/linux/perf_event.h).
    Rights(Option<i32>),
    /// Somebody in front of it forbids the call (EPERM), as the filters of containers do.
    Filtered,
    /// There is no such call.
    NoCall,
    /// There is no such event.
    NoEvent(String),
    /// The process, or the system, has no descriptor left.
    Descriptors,
    /// Anything else.
    Other(String),
}

/// Where a hardware counter was never switched on.
pub(super) const NO_TURN: &str =
    "too many counters take turns on this CPU: it never counted in this pass; try more --iters";

impl Obstacle {
    pub(super) fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EACCES) => Obstacle::Rights(paranoid()),
            Some(libc::EPERM) => Obstacle::Filtered,
            Some(libc::ENOSYS) => Obstacle::NoCall,
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::EINVAL) => {
                Obstacle::NoEvent(error.to_string())
            }
            Some(libc::EMFILE | libc::ENFILE) => Obstacle::Descriptors,
            _ => Obstacle::Other(error.to_string()),
        }
    }

    /// One line: why, and what would help.
    pub(super) fn reason(&self, is_hardware: bool) -> String {
        match self {
            Obstacle::Rights(Some(level @ 3..)) => format!(
                "kernel.perf_event_paranoid is {level}: sudo sysctl -w kernel.perf_event_paranoid=1, or CAP_PERFMON"
            ),
            Obstacle::Rights(Some(level @ 2)) => format!(
                "kernel.perf_event_paranoid is {level}, which keeps users from counting in the kernel: sudo sysctl -w kernel.perf_event_paranoid=1, or CAP_PERFMON"
            ),
            Obstacle::Rights(_) => {
                "this process lacks CAP_PERFMON, and a security module may forbid more: run it as root"
                    .to_owned()
            }
            Obstacle::Filtered => {
                "perf_event_open(2) is forbidden, as by the system-call filter of a container: run it outside"
                    .to_owned()
            }
            Obstacle::NoCall => {
                "no perf_event_open(2) here: a kernel without CONFIG_PERF_EVENTS, or a system-call filter"
                    .to_owned()
            }
            Obstacle::NoEvent(_) if is_hardware => {
                "this machine has no such hardware counters (most virtual machines have none)"
                    .to_owned()
            }
            Obstacle::NoEvent(error) => format!("this kernel has no such event: {error}"),
            Obstacle::Descriptors => {
                "no descriptors are left: start it with a higher ulimit -n".to_owned()
            }
            Obstacle::Other(error) => format!("perf_event_open(2): {error}"),
        }
    }
}

/// Where the threads to be counted are not known.
pub(super) const NO_THREADS: &str =
    "the threads cannot be listed (/proc/self/task cannot be read): mount /proc";

/// Where a counter for each thread takes more descriptors than may be opened.
pub(super) fn descriptors(needed: u64, spare: u64) -> String {
    format!(
        "all events of all threads need {needed} descriptors and {spare} may be opened: start it with a higher ulimit -n, or as root, which may count by CPU"
    )
}

/// Where no tracepoint can be found.
pub(super) fn tracefs(is_refused: bool, is_mounted: bool) -> &'static str {
    match (is_refused, is_mounted) {
        (true, _) => {
            "only root may read tracefs (/sys/kernel/tracing), which numbers the events of system calls: run it as root"
        }
        (false, true) => "this kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)",
        (false, false) => "tracefs is not mounted: sudo mount -t tracefs nodev /sys/kernel/tracing",
    }
}

fn paranoid() -> Option<i32> {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_named_where_it_is_what_forbids() {
        for level in [2, 3, 4] {
            let reason = Obstacle::Rights(Some(level)).reason(false);
            assert!(reason.contains(&format!("is {level}")), "{reason}");
            assert!(reason.contains("sysctl -w kernel.perf_event_paranoid=1"));
            assert!(reason.contains("CAP_PERFMON"), "{reason}");
        }
        for level in [Some(1), None] {
            let reason = Obstacle::Rights(level).reason(false);
            assert!(!reason.contains("sysctl"), "{reason}");
        }
    }

    #[test]
    fn errors_have_reasons() {
        let of = |code| Obstacle::of(&io::Error::from_raw_os_error(code));
        assert_eq!(of(libc::ENOSYS), Obstacle::NoCall);
        assert_eq!(of(libc::EPERM), Obstacle::Filtered);
        assert!(matches!(of(libc::EACCES), Obstacle::Rights(_)));
        assert_eq!(of(libc::EMFILE), Obstacle::Descriptors);
        let hardware = of(libc::ENOENT).reason(true);
        assert!(hardware.contains("no such hardware counters"), "{hardware}");
        let software = of(libc::EINVAL).reason(false);
        assert!(software.contains("no such event"), "{software}");
        assert!(matches!(of(libc::EIO), Obstacle::Other(_)));
    }

    #[test]
    fn tracefs_has_a_reason_for_each_state() {
        assert!(tracefs(true, true).contains("run it as root"));
        assert!(tracefs(false, false).contains("mount -t tracefs"));
        assert!(tracefs(false, true).contains("CONFIG_FTRACE_SYSCALLS"));
    }
}
