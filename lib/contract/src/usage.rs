//! CPU time, switches and page faults of this process, from getrusage(2).

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::message::Usage;

/// Usage so far, of all threads.
pub(crate) fn now() -> Option<Usage> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some(Usage {
        user_ns: usage.user_time().num_microseconds().unsigned_abs() * 1000,
        system_ns: usage.system_time().num_microseconds().unsigned_abs() * 1000,
        voluntary_switches: usage.voluntary_context_switches().unsigned_abs(),
        involuntary_switches: usage.involuntary_context_switches().unsigned_abs(),
        minor_faults: usage.minor_page_faults().unsigned_abs(),
        major_faults: usage.major_page_faults().unsigned_abs(),
    })
}

/// Difference of two readings.
pub(crate) fn since(now: Usage, before: Usage) -> Usage {
    Usage {
        user_ns: now.user_ns.saturating_sub(before.user_ns),
        system_ns: now.system_ns.saturating_sub(before.system_ns),
        voluntary_switches: now.voluntary_switches - before.voluntary_switches,
        involuntary_switches: now.involuntary_switches - before.involuntary_switches,
        minor_faults: now.minor_faults - before.minor_faults,
        major_faults: now.major_faults - before.major_faults,
    }
}
