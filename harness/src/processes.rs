//! Tasks that are processes: what they use and what they hold, looked at from outside.
//!
//! getrusage(2) has nothing of a child that is still alive, and a child that was asked would have
//! to wake up for it. So the driver reads what the kernel shows of each: nothing is added to what
//! they do, between the laps or in them.

#![expect(unsafe_code, reason = "the CPU clocks of other processes are read")]

use std::fs;
use std::sync::Arc;

use nix::unistd::{Pid, getpid};

use crate::usage::{Memory, Usage, field};

/// The processes that are the tasks of a run; none where tasks are something else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes(Arc<[Pid]>);

/// What processes have used so far, all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// CPU time as the scheduler counts it, in ns.
    cpu: u64,
    /// CPU time by what was running at each tick of the clock, in ns: in user mode, and in all.
    user_ticks: u64,
    all_ticks: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
}

/// What this process has used so far, and what its tasks have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) own: Usage,
    /// `None` where it is not known.
    pub(crate) others: Option<Spent>,
}

impl Used {
    /// What all of them have used since `before`; `None` where that of some process is not known.
    pub(crate) fn since(self, before: Used) -> Option<Usage> {
        let others = self.others?.since(before.others?);
        Some(self.own.since(before.own) + others)
    }
}

/// Which of a process's times a clock shows (include/linux/posix-timers_types.h).
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// User and system time, by ticks.
    Prof = 0,
    /// User time, by ticks.
    Virt = 1,
    /// CPU time, as the scheduler counts it.
    Sched = 2,
}

impl Processes {
    pub(crate) fn new(pids: &[Pid]) -> Self {
        Processes(pids.into())
    }

    pub(crate) fn pids(&self) -> &[Pid] {
        &self.0
    }

    /// Whether there are none.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// What they have used so far; `None` where the kernel does not tell of each of them.
    pub(crate) fn spent(&self) -> Option<Spent> {
        let all = self.0.iter().map(|&pid| Spent::by(pid));
        all.sum()
    }

    /// What they hold together with this process, and what the whole system does. Pages that
    /// several processes share are divided by their users, so that each is counted once.
    pub(crate) fn memory(&self) -> Memory {
        let own = Memory::of(getpid());
        let start = Memory {
            resident: own.proportional,
            ..own
        };
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        let held = self.0.iter().fold(start, |all, &pid| {
            let one = Memory::of(pid);
            Memory {
                resident: sum(all.resident, one.proportional),
                proportional: sum(all.proportional, one.proportional),
                anonymous: sum(all.anonymous, one.anonymous),
                huge: sum(all.huge, one.huge),
                virtual_size: sum(all.virtual_size, one.virtual_size),
                page_tables: sum(all.page_tables, one.page_tables),
                ..all
            }
        });
        held.with_system()
    }
}

impl Spent {
    fn by(pid: Pid) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (minor_faults, major_faults) = faults(&stat)?;
        Some(Spent {
            cpu: time(pid, Clock::Sched)?,
            user_ticks: time(pid, Clock::Virt)?,
            all_ticks: time(pid, Clock::Prof)?,
            voluntary_switches: field(&status, "voluntary_ctxt_switches")?,
            involuntary_switches: field(&status, "nonvoluntary_ctxt_switches")?,
            minor_faults,
            major_faults,
        })
    }

    /// What was used since `before`. The CPU time is divided between user and system as it was at
    /// the ticks of the clock, which is what getrusage(2) does (`cputime_adjust` in the kernel's
    /// kernel/sched/cputime.c); here over all processes, since one of many may see no tick at all.
    pub(crate) fn since(self, before: Spent) -> Usage {
        let cpu = self.cpu.saturating_sub(before.cpu);
        let user_ticks = self.user_ticks.saturating_sub(before.user_ticks);
        let all_ticks = self.all_ticks.saturating_sub(before.all_ticks);
        let user = match all_ticks {
            0 => cpu,
            all => (u128::from(cpu) * u128::from(user_ticks.min(all)) / u128::from(all)) as u64,
        };
        Usage {
            user,
            system: cpu - user,
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        }
    }
}

impl std::iter::Sum for Spent {
    fn sum<I: Iterator<Item = Spent>>(all: I) -> Spent {
        all.fold(Spent::default(), |a, b| Spent {
            cpu: a.cpu.saturating_add(b.cpu),
            user_ticks: a.user_ticks.saturating_add(b.user_ticks),
            all_ticks: a.all_ticks.saturating_add(b.all_ticks),
            voluntary_switches: a.voluntary_switches.saturating_add(b.voluntary_switches),
            involuntary_switches: a
                .involuntary_switches
                .saturating_add(b.involuntary_switches),
            minor_faults: a.minor_faults.saturating_add(b.minor_faults),
            major_faults: a.major_faults.saturating_add(b.major_faults),
        })
    }
}

/// Minor and major faults from /proc/PID/stat (proc_pid_stat(5)): fields 10 and 12. The second
/// field is the name in parentheses, which may hold anything.
fn faults(stat: &str) -> Option<(u64, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some((minor, major))
}

/// A CPU clock of a process, in ns.
fn time(pid: Pid, clock: Clock) -> Option<u64> {
    // MAKE_PROCESS_CPUCLOCK in the same header; clock_getcpuclockid(3) makes that of the scheduler.
    let id = (!pid.as_raw() << 3) | clock as libc::clockid_t;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` alone, and fails for a clock that is none.
    let code = unsafe { libc::clock_gettime(id, &raw mut time) };
    #[allow(
        clippy::useless_conversion,
        reason = "a timespec has smaller numbers on 32-bit systems"
    )]
    let (seconds, ns) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    (code == 0).then(|| seconds.unsigned_abs() * 1_000_000_000 + ns.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    /// A shell that waits for a line each time that it has counted.
    fn counting() -> (Child, Processes) {
        let script = "while read x; do i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; done";
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).stdin(Stdio::piped());
        let child = command.spawn().unwrap();
        let processes = Processes::new(&[Pid::from_raw(child.id() as i32)]);
        (child, processes)
    }

    /// What it has spent once it waits, with more voluntary switches than `before`.
    fn at_rest(processes: &Processes, before: Spent) -> Spent {
        let begun = Instant::now();
        loop {
            let status = format!("/proc/{}/status", processes.0[0]);
            let waits = fs::read_to_string(status).unwrap().contains("S (sleeping)");
            let spent = processes.spent().unwrap();
            if waits && spent.voluntary_switches > before.voluntary_switches {
                return spent;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_another_process_does_is_seen_while_it_lives() {
        let (mut child, processes) = counting();
        let before = at_rest(&processes, Spent::default());
        child.stdin.as_mut().unwrap().write_all(b"x\n").unwrap();
        let after = at_rest(&processes, before);
        let used = after.since(before);
        assert!(used.voluntary_switches >= 1, "{used:?}");
        assert!(used.user + used.system > 0, "{used:?}");
        assert!(after.minor_faults > 0, "{after:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(processes.spent(), None, "it has ended");
    }

    #[test]
    fn what_all_hold_is_more_than_what_one_does() {
        let (mut child, processes) = counting();
        at_rest(&processes, Spent::default());
        let own = Memory::now();
        let all = processes.memory();
        assert!(all.resident > own.proportional && all.resident == all.proportional);
        assert!(all.page_tables > own.page_tables && all.system_slab.is_some());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(processes.memory().resident, None, "unknown is not zero");
    }

    #[test]
    fn cpu_time_is_divided_as_the_ticks_are() {
        let before = Spent {
            cpu: 500,
            user_ticks: 4_000_000,
            all_ticks: 8_000_000,
            ..Spent::default()
        };
        let after = Spent {
            cpu: 1500,
            user_ticks: 8_000_000,
            all_ticks: 24_000_000,
            ..Spent::default()
        };
        let used = after.since(before);
        assert_eq!((used.user, used.system), (250, 750));
        let unseen = Spent { cpu: 900, ..before };
        assert_eq!(unseen.since(before).user, 400);
    }

    #[test]
    fn faults_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 77 8 99 10 11 12";
        assert_eq!(faults(stat), Some((77, 99)));
        assert_eq!(faults("7 (sh) S 1"), None);
        assert_eq!(faults(""), None);
    }
}
