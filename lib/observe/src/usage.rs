//! CPU time, context switches and page faults of processes that are not asked.
//! getrusage(2) has nothing of a child that is alive.

use std::collections::BTreeMap;

use contract::message::Usage;
use host::strays::Process;
use nix::time::ClockId;
use nix::unistd::{SysconfVar, sysconf};

use host::source::{Source, word_after};

/// Totals of processes so far.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// CPU time as the scheduler counts it, in ns.
    cpu: u64,
    /// CPU time by what ran at each tick of the clock, in ns: in user mode, and in all.
    user_ticks: u64,
    all_ticks: u64,
    /// Faults, and switches of the threads that are alive.
    counts: Usage,
    threads: Vec<i32>,
}

/// Totals of these processes; `None` if one of them has ended or cannot be read.
pub fn totals(pids: &[i32]) -> Option<Totals> {
    let mut totals = Totals::default();
    for &pid in pids {
        let process = Process::with_pid(pid)?;
        totals.counts.minor_faults += process.minor_faults;
        totals.counts.major_faults += process.major_faults;
        totals.cpu += time(pid, Clock::Scheduler)?;
        totals.user_ticks += time(pid, Clock::User)?;
        totals.all_ticks += time(pid, Clock::UserAndSystem)?;
        for thread in threads(pid) {
            let status = Source::system().text(&format!("/proc/{pid}/task/{thread}/status"))?;
            let (voluntary, involuntary) = switches(&status)?;
            totals.counts.voluntary_switches += voluntary;
            totals.counts.involuntary_switches += involuntary;
            totals.threads.push(thread);
        }
    }
    (!pids.is_empty()).then_some(totals)
}

/// Threads of a process; none if it has ended.
pub(crate) fn threads(pid: i32) -> Vec<i32> {
    let names = Source::system().names(&format!("/proc/{pid}/task"));
    names.iter().filter_map(|name| name.parse().ok()).collect()
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
        if self.threads != before.threads {
            return None;
        }
        let cpu = self.cpu.saturating_sub(before.cpu);
        let user_ticks = self.user_ticks.saturating_sub(before.user_ticks);
        let all_ticks = self.all_ticks.saturating_sub(before.all_ticks);
        // CPU time is exact and ticks are not: they only divide it, as getrusage(2) does
        // (cputime_adjust, kernel/sched/cputime.c).
        let user = u128::from(cpu) * u128::from(user_ticks.min(all_ticks));
        let user = user.checked_div(u128::from(all_ticks)).map_or(cpu, |user| user as u64);
        let counts = self.counts.with(before.counts, u64::saturating_sub);
        Some(Usage { user_ns: user, system_ns: cpu - user, ..counts })
    }
}

/// CPU time of a process so far, its ended threads included, in ns; `None` if it has ended. 0 is this process.
pub fn cpu_time(pid: i32) -> Option<u64> {
    time(pid, Clock::Scheduler)
}

/// CPU time of the children that a process has awaited, and of theirs, in ns, as far as ticks tell.
pub fn awaited_time(pid: i32) -> Option<u64> {
    Some(Process::with_pid(pid)?.awaited * tick_ns())
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
    // MAKE_PROCESS_CPUCLOCK in the same header; clock_getcpuclockid(3) makes the scheduler's clock.
    let id = (!pid << 3) | clock as libc::clockid_t;
    let time = ClockId::from_raw(id).now().ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Tick of the kernel's clock, in ns.
pub(crate) fn tick_ns() -> u64 {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    1_000_000_000 / ticks.max(1) as u64
}

/// Moves of each thread from one CPU to another so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moves(BTreeMap<String, u64>);

/// Moves of all threads of these processes; `None` if one of them has ended, or the kernel does
/// not tell (`CONFIG_SCHED_DEBUG`).
pub fn moves(pids: &[i32]) -> Option<Moves> {
    let source = Source::system();
    let mut moves = BTreeMap::new();
    for pid in pids {
        let folder = format!("/proc/{pid}/task");
        for thread in source.names(&folder) {
            let text = source.text(&format!("{folder}/{thread}/sched"))?;
            let line = text.lines().find_map(|line| line.strip_prefix("se.nr_migrations"))?;
            moves.insert(thread, line.trim_start_matches([' ', '\t', ':']).trim().parse().ok()?);
        }
    }
    (!moves.is_empty()).then_some(Moves(moves))
}

impl Moves {
    /// Moves since `before`; `None` if the threads are not the same, since the moves of an ended thread are lost.
    pub fn since(&self, before: &Moves) -> Option<u64> {
        let is_same = self.0.keys().eq(before.0.keys());
        let [now, then] = [self, before].map(|moves| moves.0.values().sum::<u64>());
        is_same.then(|| now.saturating_sub(then))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_seen_while_it_lives() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id() as i32;
        assert_eq!(totals(&[pid]).unwrap().threads, [pid]);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(totals(&[pid]).is_none() && totals(&[]).is_none());
    }

    fn sample(cpu: u64, user_ticks: u64, all_ticks: u64, threads: &[i32]) -> Totals {
        let counts = Usage { voluntary_switches: cpu, ..Usage::default() };
        Totals { cpu, user_ticks, all_ticks, counts, threads: threads.to_vec() }
    }

    #[test]
    fn cpu_time_is_divided_as_the_ticks_are() {
        let before = sample(500, 4_000_000, 8_000_000, &[1, 2]);
        let after = sample(1500, 8_000_000, 24_000_000, &[1, 2]);
        let usage = after.since(&before).unwrap();
        assert_eq!((usage.user_ns, usage.system_ns), (250, 750));
        assert_eq!(usage.voluntary_switches, 1000);
        let no_tick = sample(900, 4_000_000, 8_000_000, &[1, 2]);
        assert_eq!(no_tick.since(&before).unwrap().user_ns, 400);
        assert_eq!(sample(900, 0, 0, &[1, 3]).since(&before), None);
    }
}
