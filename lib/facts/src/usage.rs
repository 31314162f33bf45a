//! CPU time, context switches and page faults of processes that are not asked.
//!
//! getrusage(2) has nothing of a child that is alive. The kernel shows CPU time and faults of a whole
//! process, and switches of each thread.

use std::collections::BTreeMap;

use contract::message::Usage;
use nix::time::ClockId;

use crate::source::{Source, word_after};
use crate::stat::{Stat, threads};

/// Totals of processes so far.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// CPU time as the scheduler counts it, in ns.
    cpu: u64,
    /// CPU time by what ran at each tick of the clock, in ns: in user mode, and in all.
    user_ticks: u64,
    all_ticks: u64,
    minor_faults: u64,
    major_faults: u64,
    /// Voluntary and involuntary switches of each thread.
    switches: BTreeMap<i32, (u64, u64)>,
}

/// Totals of these processes; `None` if one of them has ended or cannot be read.
pub fn totals(pids: &[i32]) -> Option<Totals> {
    let mut all = Totals::default();
    for &pid in pids {
        let stat = Stat::read(pid)?;
        all.minor_faults += stat.minor_faults;
        all.major_faults += stat.major_faults;
        all.cpu += time(pid, Clock::Scheduler)?;
        all.user_ticks += time(pid, Clock::User)?;
        all.all_ticks += time(pid, Clock::UserAndSystem)?;
        for thread in threads(pid) {
            let status = Source::system().text(&format!("/proc/{pid}/task/{thread}/status"))?;
            all.switches.insert(thread, switches(&status)?);
        }
    }
    (!pids.is_empty()).then_some(all)
}

/// Voluntary and involuntary switches of a thread with this status.
pub(crate) fn switches(status: &str) -> Option<(u64, u64)> {
    let voluntary = word_after(status, "voluntary_ctxt_switches:")?;
    Some((voluntary, word_after(status, "nonvoluntary_ctxt_switches:")?))
}

impl Totals {
    /// Usage since `before`; `None` unless the threads are the same, since switches of a thread that
    /// has ended are lost.
    pub fn since(&self, before: &Totals) -> Option<Usage> {
        if !self.switches.keys().eq(before.switches.keys()) {
            return None;
        }
        let sum = |of: fn(&(u64, u64)) -> u64| {
            let now: u64 = self.switches.values().map(of).sum();
            let then: u64 = before.switches.values().map(of).sum();
            now.saturating_sub(then)
        };
        let cpu = self.cpu.saturating_sub(before.cpu);
        let user_ticks = self.user_ticks.saturating_sub(before.user_ticks);
        let all_ticks = self.all_ticks.saturating_sub(before.all_ticks);
        // CPU time is exact and ticks are not: they only divide it, as getrusage(2) does
        // (cputime_adjust, kernel/sched/cputime.c).
        let user = u128::from(cpu) * u128::from(user_ticks.min(all_ticks));
        let user = user.checked_div(u128::from(all_ticks)).map_or(cpu, |user| user as u64);
        Some(Usage {
            user_ns: user,
            system_ns: cpu - user,
            voluntary_switches: sum(|of| of.0),
            involuntary_switches: sum(|of| of.1),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        })
    }
}

/// CPU time of a process so far, its ended threads included, in ns; `None` if it has ended.
pub fn cpu_time(pid: i32) -> Option<u64> {
    time(pid, Clock::Scheduler)
}

/// CPU clocks of a process (include/linux/posix-timers_types.h).
#[derive(Clone, Copy)]
enum Clock {
    UserAndSystem = 0,
    User = 1,
    Scheduler = 2,
}

/// A CPU clock of a process, in ns; its ended threads are included.
fn time(pid: i32, clock: Clock) -> Option<u64> {
    // MAKE_PROCESS_CPUCLOCK in the same header; clock_getcpuclockid(3) makes that of the scheduler.
    let id = (!pid << 3) | clock as libc::clockid_t;
    let time = ClockId::from_raw(id).now().ok()?;
    #[allow(
        clippy::useless_conversion,
        reason = "a timespec has smaller numbers on 32-bit systems"
    )]
    let (seconds, ns) = (i64::from(time.tv_sec()), i64::from(time.tv_nsec()));
    Some(seconds.unsigned_abs() * 1_000_000_000 + ns.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Totals once the process waits, with more voluntary switches than `before`.
    fn at_rest(pid: i32, before: u64) -> Totals {
        let begun = Instant::now();
        loop {
            let state = Stat::read(pid).unwrap().state;
            let totals = totals(&[pid]).unwrap();
            if state == 'S' && totals.switches[&pid].0 > before {
                return totals;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "it does not rest");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn another_process_is_seen_while_it_lives() {
        let script = "while read x; do i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; done";
        let mut command = Command::new("sh");
        let mut child = command.args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id() as i32;
        let before = at_rest(pid, 0);
        child.stdin.as_mut().unwrap().write_all(b"x\n").unwrap();
        let after = at_rest(pid, before.switches[&pid].0);
        let usage = after.since(&before).unwrap();
        assert!(usage.voluntary_switches >= 1, "{usage:?}");
        assert!(usage.user_ns + usage.system_ns > 0, "{usage:?}");
        assert!(after.minor_faults > 0, "{after:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(totals(&[pid]).is_none());
        assert!(totals(&[]).is_none());
    }

    fn sample(cpu: u64, user_ticks: u64, all_ticks: u64, threads: &[i32]) -> Totals {
        let switches = threads.iter().map(|&id| (id, (cpu, 1))).collect();
        Totals { cpu, user_ticks, all_ticks, switches, ..Totals::default() }
    }

    #[test]
    fn cpu_time_is_divided_as_the_ticks_are() {
        let before = sample(500, 4_000_000, 8_000_000, &[1, 2]);
        let after = sample(1500, 8_000_000, 24_000_000, &[1, 2]);
        let usage = after.since(&before).unwrap();
        assert_eq!((usage.user_ns, usage.system_ns), (250, 750));
        assert_eq!(usage.voluntary_switches, 2000);
        let no_tick = sample(900, 4_000_000, 8_000_000, &[1, 2]);
        assert_eq!(no_tick.since(&before).unwrap().user_ns, 400);
        assert_eq!(sample(900, 0, 0, &[1, 3]).since(&before), None);
    }
}
