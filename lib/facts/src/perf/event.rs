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

const SOFTWARE: [(&str, Software); 3] = [
    ("context_switches", Software::CONTEXT_SWITCHES),
    ("cpu_migrations", Software::CPU_MIGRATIONS),
    ("page_faults", Software::PAGE_FAULTS),
];

/// Each is counted in user mode and in the kernel apart.
const HARDWARE: [(&str, Hardware); 4] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache_references", Hardware::CACHE_REFERENCES),
    ("cache_misses", Hardware::CACHE_MISSES),
];

const CALLS: [(&str, &[&str]); 3] = [
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
];

/// All events by name.
pub(super) fn events() -> Vec<(String, Event)> {
    let software = SOFTWARE.map(|(name, event)| (name.to_owned(), Event::Software(event)));
    let hardware = HARDWARE.into_iter().flat_map(|(name, event)| {
        [
            (format!("{name}_user"), Event::Hardware(event, Side::User)),
            (format!("{name}_kernel"), Event::Hardware(event, Side::Kernel)),
        ]
    });
    let calls = CALLS.map(|(name, points)| (name.to_owned(), Event::Calls(points)));
    software.into_iter().chain(hardware).chain(calls).collect()
}

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
                if side == Side::Kernel {
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
