//! Events that are counted, what is opened for each, and the reasons why one cannot be counted.

use std::io;

use perf_event::Builder;
use perf_event::events::{Hardware, Tracepoint};
use record::Absent;

use host::source::Source;

/// Each is counted in user mode and in the kernel apart.
const HARDWARE: [(&str, Hardware); 4] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache_references", Hardware::CACHE_REFERENCES),
    ("cache_misses", Hardware::CACHE_MISSES),
];

/// Tracepoints, with their counts added up.
const CALLS: [(&str, &[&str]); 4] = [
    ("io_uring_enters", &["syscalls/sys_enter_io_uring_enter"]),
    (
        "epoll_waits",
        &[
            "syscalls/sys_enter_epoll_wait",
            "syscalls/sys_enter_epoll_pwait",
            "syscalls/sys_enter_epoll_pwait2",
        ],
    ),
    ("system_calls", &["raw_syscalls/sys_enter"]),
    ("threads_woken", &["sched/sched_waking"]),
];

/// Counters to open for an event, or why there are none.
type Parts = Result<Vec<Builder<'static>>, Absent>;

/// All events by name.
pub(super) fn events() -> Vec<(String, Parts)> {
    let mut events = Vec::new();
    for (name, event) in HARDWARE {
        events.push((format!("{name}_user"), Ok(vec![Builder::new(event)])));
        let mut kernel = Builder::new(event);
        kernel.include_kernel().exclude_user(true);
        events.push((format!("{name}_kernel"), Ok(vec![kernel])));
    }
    events.extend(CALLS.map(|(name, calls)| (name.to_owned(), tracepoints(calls))));
    events
}

/// The tracepoints that the kernel has, at least one.
fn tracepoints(names: &[&str]) -> Parts {
    let files = names.iter().map(|name| format!("/sys/kernel/tracing/events/{name}/id"));
    let ids = files.filter_map(|file| Source::system().number(&file).ok());
    let mut parts: Vec<_> = ids.map(|id| Builder::new(Tracepoint::with_id(id))).collect();
    parts.iter_mut().for_each(|part| _ = part.include_kernel());
    if !parts.is_empty() {
        return Ok(parts);
    }
    Err(Absent::because(
        "tracefs (/sys/kernel/tracing) shows no events: it is not mounted, or only root may read it",
        Some("sudo mount -t tracefs nodev /sys/kernel/tracing, and run it as root"),
    ))
}

/// Reason for an error of perf_event_open(2), or of a later call on its descriptor.
pub(super) fn reason(error: &io::Error) -> Absent {
    // perf_allow_kernel and perf_allow_cpu in include/linux/perf_event.h.
    match error.raw_os_error() {
        Some(libc::EACCES) => {
            let level = Source::system().text("/proc/sys/kernel/perf_event_paranoid");
            let level = level.unwrap_or_else(|| "unknown".to_owned());
            Absent::because(
                format!("this user may not count: kernel.perf_event_paranoid is {level}"),
                Some("sudo sysctl -w kernel.perf_event_paranoid=0, or run it as root"),
            )
        }
        Some(libc::EPERM | libc::ENOSYS) => Absent::because(
            "perf_event_open(2) is forbidden, perhaps by a container's filter, or the kernel lacks CONFIG_PERF_EVENTS",
            Some("run it outside the container"),
        ),
        Some(libc::EMFILE | libc::ENFILE) => {
            Absent::because("no descriptors are left", Some("raise ulimit -n"))
        }
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::EINVAL) => Absent::because(
            "this machine or its kernel has no such event; most virtual machines lack hardware counters",
            None,
        ),
        _ => Absent::because(format!("perf_event_open(2): {error}"), None),
    }
}
