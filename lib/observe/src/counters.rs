//! Perf events (perf_event_open(2)) of a further, untimed run over the same tasks.
//!
//! They are attached while the program waits, for a further `run` that nobody times: a counter is
//! switched on and off at each context switch, which makes a hop up to 20 times as expensive.

mod event;

use std::collections::BTreeMap;
use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use perf_event::events::Software;
use perf_event::{Builder, Counter};
use record::{Absent, Counters};

use crate::usage::threads;
use event::events;
use host::source::{Source, word_after};

/// Counters of a thread, and descriptors that stay free.
const COUNTERS: usize = 14;
const RESERVE: usize = 32;

/// Events that are counted in runs of a command.
const OF_RUNS: [&str; 3] = ["system_calls", "instructions_user", "instructions_kernel"];

/// Counters that are on.
pub struct Counting {
    /// Those of each event.
    open: Vec<(String, Vec<Counter>)>,
    absent: Vec<Absent>,
    /// Calls before, which the system counts all the time.
    calls: Option<[u64; 2]>,
    pids: Vec<i32>,
}

/// Attaches counters to every thread of these processes, and switches them on. With `from_exec`, they count only in the
/// programs that these processes start, and what those start in turn.
pub fn attach(pids: &[i32], from_exec: bool) -> Counting {
    let threads: Vec<i32> = pids.iter().flat_map(|&pid| threads(pid)).collect();
    let room = make_room(COUNTERS * threads.len());
    let calls = if from_exec { None } else { calls(pids) };
    let pids = pids.to_owned();
    let mut counting = Counting { open: Vec::new(), absent: Vec::new(), calls, pids };
    let events = events().into_iter().filter(|(name, _)| !from_exec || OF_RUNS.contains(&&**name));
    for (name, parts) in events {
        let parts = room.clone().and(parts).map(|mut parts| {
            parts.iter_mut().for_each(|part| _ = part.enable_on_exec(from_exec));
            parts
        });
        match parts.and_then(|parts| open_all(&parts, &threads)) {
            Ok(counters) => counting.open.push((name, counters)),
            Err(why) => why.add(&name, &mut counting.absent),
        }
    }
    if !from_exec {
        counting.each(Counter::enable);
    }
    counting
}

/// Raises the soft limit of descriptors, for good, if so many counters need that; an error if it cannot be raised so far.
fn make_room(counters: usize) -> Result<(), Absent> {
    let needed = (counters + RESERVE) as u64;
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| match needed {
        _ if needed <= soft => Ok(()),
        _ if needed <= hard => setrlimit(Resource::RLIMIT_NOFILE, needed, hard),
        _ => Err(Errno::EMFILE),
    });
    raised.map_err(|errno| event::reason(&errno.into()))
}

/// Opens the counters of one event for every thread, and for all threads and processes that these start; or none.
fn open_all(parts: &[Builder<'static>], threads: &[i32]) -> Result<Vec<Counter>, Absent> {
    let mut counters = Vec::with_capacity(parts.len() * threads.len());
    for &thread in threads {
        for part in parts {
            match part.clone().observe_pid(thread).any_cpu().inherit(true).build() {
                Ok(counter) => counters.push(counter),
                // It has ended since it was listed.
                Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
                Err(e) => return Err(event::reason(&e)),
            }
        }
    }
    if counters.is_empty() {
        return Err(Absent::because("/proc shows no thread of the program", None));
    }
    Ok(counters)
}

impl Counting {
    /// Does the same with each counter. If a counter of an event fails, the event is left out, since its count would be
    /// too low.
    fn each(&mut self, mut call: impl FnMut(&mut Counter) -> io::Result<()>) {
        let Counting { open, absent, .. } = self;
        open.retain_mut(|(name, counters)| {
            let done = counters.iter_mut().try_for_each(&mut call);
            done.map_err(|e| event::reason(&e).add(name, absent)).is_ok()
        });
    }

    /// Switches the counters off and reads them. The caller adds the iterations.
    pub fn finish(mut self) -> Counters {
        self.each(Counter::disable);
        let calls = self.calls.zip(calls(&self.pids));
        let [reads, writes] = [0, 1]
            .map(|kind| calls.and_then(|(before, after)| after[kind].checked_sub(before[kind])));
        let mut events = BTreeMap::new();
        for (name, counters) in self.open {
            match sum(counters) {
                Ok(count) => drop(events.insert(name, count)),
                Err(why) => why.add(&name, &mut self.absent),
            }
        }
        Counters { iterations: 0, reads, writes, events, absent: self.absent }
    }
}

/// Counters of the context switches of some threads, and of all threads and processes that these start.
pub(crate) struct Switches(Vec<Counter>);

impl Switches {
    /// Counts from now on; `None` if that is not allowed, or there are not enough descriptors for it.
    pub(crate) fn count(threads: &[i32]) -> Option<Self> {
        make_room(threads.len()).ok()?;
        let mut switches = Builder::new(Software::CONTEXT_SWITCHES);
        switches.include_kernel();
        let mut counters = open_all(&[switches], threads).ok()?;
        counters.iter_mut().try_for_each(Counter::enable).ok()?;
        Some(Switches(counters))
    }

    /// Switches so far.
    pub(crate) fn total(&mut self) -> Option<u64> {
        self.0.iter_mut().map(|counter| counter.read().ok()).sum()
    }
}

/// Calls of these processes that read and that write, so far.
fn calls(pids: &[i32]) -> Option<[u64; 2]> {
    let mut sums = [0; 2];
    for pid in pids {
        let io = Source::system().text(&format!("/proc/{pid}/io"))?;
        let calls: [u64; 2] = [word_after(&io, "syscr:")?, word_after(&io, "syscw:")?];
        sums = [sums[0] + calls[0], sums[1] + calls[1]];
    }
    (!pids.is_empty()).then_some(sums)
}

/// Count of one event over its counters, scaled to the whole time.
fn sum(counters: Vec<Counter>) -> Result<u64, Absent> {
    let (mut count, mut enabled, mut running) = (0, 0, 0);
    for mut counter in counters {
        let data = counter.read_full().map_err(|e| event::reason(&e))?;
        count += data.count();
        enabled += data.time_enabled().unwrap_or_default().as_nanos() as u64;
        running += data.time_running().unwrap_or_default().as_nanos() as u64;
    }
    scaled(count, enabled, running).ok_or_else(|| {
        let cause = "the CPU has too few counters, and this event never got one";
        Absent::because(cause, Some("count more iterations"))
    })
}

/// A count scaled to the time that it should have been on: a CPU with too few counters switches between them. Times are
/// in ns. `None` if it never was on.
fn scaled(count: u64, enabled: u64, running: u64) -> Option<u64> {
    // If no thread has run, both times are 0.
    if running >= enabled {
        return Some(count);
    }
    let scaled = (u128::from(count) * u128::from(enabled)).checked_div(u128::from(running))?;
    u64::try_from(scaled).ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_counter_that_was_off_at_times_is_scaled() {
        for (count, enabled, running, scaled) in [
            (10, 100, 100, Some(10)),
            (10, 100, 25, Some(40)),
            (0, 0, 0, Some(0)),
            (0, 100, 0, None),
        ] {
            assert_eq!(super::scaled(count, enabled, running), scaled);
        }
    }

    #[test]
    fn another_process_is_counted_or_each_event_has_a_reason() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let counters = attach(&[child.id() as i32], false).finish();
        let absent: usize = counters.absent.iter().map(|one| one.events.len()).sum();
        assert_eq!(counters.events.len() + absent, events().len(), "{counters:?}");
        assert!(counters.absent.iter().all(|one| !one.reason.is_empty()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(attach(&[child.id() as i32], false).finish().events.is_empty());
    }
}
