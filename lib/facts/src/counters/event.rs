//! Events that are counted, and what is opened for each.

use std::fs;

use perf_event::Builder;
use perf_event::events::{Hardware, Software, Tracepoint};

use super::reason::{self, Reason};

/// One event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Software(Software),
    /// In user mode only, or in the kernel only.
    Hardware {
        event: Hardware,
        in_kernel: bool,
    },
    /// Tracepoints whose counts are added up.
    Calls(&'static [&'static str]),
}

/// Each is counted in user mode and in the kernel apart.
const HARDWARE: [(&str, Hardware); 4] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache_references", Hardware::CACHE_REFERENCES),
    ("cache_misses", Hardware::CACHE_MISSES),
];

const EPOLL_WAITS: [&str; 3] = [
    "syscalls/sys_enter_epoll_wait",
    "syscalls/sys_enter_epoll_pwait",
    "syscalls/sys_enter_epoll_pwait2",
];

/// Mount points of tracefs, today's and the former one.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// All events by name.
pub(super) fn events() -> Vec<(String, Event)> {
    let mut events = vec![
        ("context_switches".to_owned(), Event::Software(Software::CONTEXT_SWITCHES)),
        ("cpu_migrations".to_owned(), Event::Software(Software::CPU_MIGRATIONS)),
        ("page_faults".to_owned(), Event::Software(Software::PAGE_FAULTS)),
    ];
    for (name, event) in HARDWARE {
        for (mode, in_kernel) in [("user", false), ("kernel", true)] {
            events.push((format!("{name}_{mode}"), Event::Hardware { event, in_kernel }));
        }
    }
    events.extend([
        ("io_uring_enters".to_owned(), Event::Calls(&["syscalls/sys_enter_io_uring_enter"])),
        ("epoll_waits".to_owned(), Event::Calls(&EPOLL_WAITS)),
        ("system_calls".to_owned(), Event::Calls(&["raw_syscalls/sys_enter"])),
    ]);
    events
}

impl Event {
    /// Counters to open, or why there are none.
    pub(super) fn parts(self) -> Result<Vec<Builder<'static>>, Reason> {
        let mut builders = match self {
            Event::Software(event) => vec![Builder::new(event)],
            Event::Hardware { event, in_kernel } => {
                let mut builder = Builder::new(event);
                if !in_kernel {
                    return Ok(vec![builder]);
                }
                builder.exclude_user(true);
                vec![builder]
            }
            Event::Calls(names) => {
                let ids = tracepoints(names)?.into_iter();
                ids.map(|id| Builder::new(Tracepoint::with_id(id))).collect()
            }
        };
        for builder in &mut builders {
            builder.include_kernel();
        }
        Ok(builders)
    }
}

/// Numbers of those tracepoints that the kernel has: one at least.
fn tracepoints(names: &[&str]) -> Result<Vec<u64>, Reason> {
    for folder in TRACING {
        let files = names.iter().map(|name| format!("{folder}/events/{name}/id"));
        let ids = files.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
        let ids: Vec<u64> = ids.collect();
        if !ids.is_empty() {
            return Ok(ids);
        }
    }
    Err(reason::tracefs())
}
