//! Events that are counted, and what is opened for each.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use perf_event::Builder;
use perf_event::events::{Hardware, Software, Tracepoint};

use super::reason::{self, Reason};

/// One event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Software(Software),
    /// In user mode only, or in the kernel only.
    Hardware(Hardware, Side),
    /// Tracepoints whose counts are added up.
    Calls(&'static [&'static str]),
}

/// Mode of the CPU in which an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Kernel,
}

use Hardware as H;
use Side::{Kernel, User};

/// All events by name.
pub(super) const EVENTS: [(&str, Event); 14] = [
    (
        "context_switches",
        Event::Software(Software::CONTEXT_SWITCHES),
    ),
    ("cpu_migrations", Event::Software(Software::CPU_MIGRATIONS)),
    ("page_faults", Event::Software(Software::PAGE_FAULTS)),
    ("cycles_user", Event::Hardware(H::CPU_CYCLES, User)),
    ("cycles_kernel", Event::Hardware(H::CPU_CYCLES, Kernel)),
    ("instructions_user", Event::Hardware(H::INSTRUCTIONS, User)),
    (
        "instructions_kernel",
        Event::Hardware(H::INSTRUCTIONS, Kernel),
    ),
    (
        "cache_references_user",
        Event::Hardware(H::CACHE_REFERENCES, User),
    ),
    (
        "cache_references_kernel",
        Event::Hardware(H::CACHE_REFERENCES, Kernel),
    ),
    ("cache_misses_user", Event::Hardware(H::CACHE_MISSES, User)),
    (
        "cache_misses_kernel",
        Event::Hardware(H::CACHE_MISSES, Kernel),
    ),
    (
        "io_uring_enters",
        Event::Calls(&["syscalls/sys_enter_io_uring_enter"]),
    ),
    (
        "epoll_waits",
        Event::Calls(&[
            "syscalls/sys_enter_epoll_wait",
            "syscalls/sys_enter_epoll_pwait",
            "syscalls/sys_enter_epoll_pwait2",
        ]),
    ),
    ("system_calls", Event::Calls(&["raw_syscalls/sys_enter"])),
];

/// Mount points of tracefs, today's and the former one.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl Event {
    /// Counters to open, or why there are none.
    pub(super) fn parts(self) -> Result<Vec<Builder<'static>>, Reason> {
        match self {
            // They happen in the kernel.
            Event::Software(event) => {
                let mut builder = Builder::new(event);
                builder.include_kernel();
                Ok(vec![builder])
            }
            Event::Hardware(event, side) => {
                let mut builder = Builder::new(event);
                if side == Kernel {
                    builder.include_kernel().exclude_user(true);
                }
                Ok(vec![builder])
            }
            Event::Calls(names) => {
                let build = |id| {
                    let mut builder = Builder::new(Tracepoint::with_id(id));
                    builder.include_kernel();
                    builder
                };
                Ok(tracepoints(names)?.into_iter().map(build).collect())
            }
        }
    }
}

/// Numbers of those tracepoints that the kernel has: one at least.
fn tracepoints(names: &[&str]) -> Result<Vec<u64>, Reason> {
    let mut ids = Vec::new();
    let mut refused = false;
    for folder in TRACING {
        for name in names {
            let file = Path::new(folder).join("events").join(name).join("id");
            match fs::read_to_string(file) {
                Ok(text) => ids.extend(text.trim().parse::<u64>().ok()),
                Err(e) => refused |= e.kind() == ErrorKind::PermissionDenied,
            }
        }
        if !ids.is_empty() {
            return Ok(ids);
        }
    }
    let mounted = TRACING.iter().any(|f| Path::new(f).join("events").exists());
    Err(reason::tracefs(refused, mounted))
}
