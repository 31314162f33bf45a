//! Which events are counted, and what is opened for each.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use perf_event::Builder;
use perf_event::events::{Hardware, Software, Tracepoint};

use crate::counters::reason;

/// What is counted, and as what.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Software(Software),
    /// In user mode only, or in the kernel only.
    Hardware(Hardware, Side),
    /// The tracepoints of one name.
    Calls(&'static [&'static str]),
}

/// Where the CPU is when an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Kernel,
}

/// All events. System calls are last: the call that stops this counter is the only one of its kind
/// that it counts.
pub(super) const EVENTS: [(&str, Event); 14] = [
    (
        "context_switches",
        Event::Software(Software::CONTEXT_SWITCHES),
    ),
    ("cpu_migrations", Event::Software(Software::CPU_MIGRATIONS)),
    ("page_faults", Event::Software(Software::PAGE_FAULTS)),
    (
        "cycles_user",
        Event::Hardware(Hardware::CPU_CYCLES, Side::User),
    ),
    (
        "cycles_kernel",
        Event::Hardware(Hardware::CPU_CYCLES, Side::Kernel),
    ),
    (
        "instructions_user",
        Event::Hardware(Hardware::INSTRUCTIONS, Side::User),
    ),
    (
        "instructions_kernel",
        Event::Hardware(Hardware::INSTRUCTIONS, Side::Kernel),
    ),
    (
        "cache_references_user",
        Event::Hardware(Hardware::CACHE_REFERENCES, Side::User),
    ),
    (
        "cache_references_kernel",
        Event::Hardware(Hardware::CACHE_REFERENCES, Side::Kernel),
    ),
    (
        "cache_misses_user",
        Event::Hardware(Hardware::CACHE_MISSES, Side::User),
    ),
    (
        "cache_misses_kernel",
        Event::Hardware(Hardware::CACHE_MISSES, Side::Kernel),
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

/// Where tracefs is mounted, or used to be.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl Event {
    /// What is opened for it; why nothing can be.
    pub(super) fn parts(self) -> Result<Vec<Builder<'static>>, String> {
        match self {
            // They happen in the kernel, and without it would be zero.
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
                let ids = tracepoints(names)?;
                let build = |id| {
                    let mut builder = Builder::new(Tracepoint::with_id(id));
                    builder.include_kernel();
                    builder
                };
                Ok(ids.into_iter().map(build).collect())
            }
        }
    }
}

/// The numbers of those of these tracepoints that the kernel has: one at least.
fn tracepoints(names: &[&str]) -> Result<Vec<u64>, String> {
    let mut ids = Vec::new();
    let mut refused = None;
    for folder in TRACING {
        for name in names {
            let file = Path::new(folder).join("events").join(name).join("id");
            match fs::read_to_string(file) {
                Ok(text) => ids.extend(text.trim().parse::<u64>().ok()),
                Err(e) if e.kind() == ErrorKind::PermissionDenied => refused = Some(e),
                Err(_) => {}
            }
        }
        if !ids.is_empty() {
            return Ok(ids);
        }
    }
    let is_mounted = TRACING.iter().any(|f| Path::new(f).join("events").exists());
    Err(reason::tracefs(refused.is_some(), is_mounted).to_owned())
}
