//! Processes and their threads, as proc_pid_stat(5) and proc_pid_task(5) show them.

use nix::unistd::{SysconfVar, sysconf};

use crate::source::Source;

/// The fields of /proc/PID/stat that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    /// `Z` and `X` are processes that have ended.
    pub(crate) state: char,
    pub(crate) parent: i32,
    pub(crate) is_of_kernel: bool,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    /// CPU time of children that it has awaited, in ticks.
    pub(crate) awaited: u64,
}

impl Stat {
    /// `None` if there is no such process.
    pub(crate) fn read(pid: i32) -> Option<Stat> {
        Stat::parse(&Source::system().text(&format!("/proc/{pid}/stat"))?)
    }

    fn parse(text: &str) -> Option<Stat> {
        // The name may hold blanks and brackets.
        let (pid, rest) = text.split_once(" (")?;
        let (_, rest) = rest.rsplit_once(") ")?;
        // By their numbers in the manual.
        let fields: Vec<&str> = rest.split(' ').collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Stat {
            pid: pid.parse().ok()?,
            state: fields.first()?.chars().next()?,
            parent: number(4)? as i32,
            // PF_KTHREAD of include/linux/sched.h.
            is_of_kernel: number(9)? & 0x0020_0000 != 0,
            minor_faults: number(10)?,
            major_faults: number(12)?,
            awaited: number(16)?.saturating_add(number(17)?),
        })
    }
}

/// All processes that are alive.
pub(crate) fn living() -> Vec<Stat> {
    let processes = numbers("/proc").into_iter().filter_map(Stat::read);
    processes.filter(|stat| stat.state != 'Z').collect()
}

/// Threads of a process; none if it has ended.
pub(crate) fn threads(pid: i32) -> Vec<i32> {
    numbers(&format!("/proc/{pid}/task"))
}

fn numbers(folder: &str) -> Vec<i32> {
    Source::system().names(folder).iter().filter_map(|name| name.parse().ok()).collect()
}

/// Tick of the kernel's clock, in ns.
pub(crate) fn tick_ns() -> u64 {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    1_000_000_000 / ticks.max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_what_separates_fields() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194304 10 11 12 13 14 15 16 17 20 0 1 0 5";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.pid, stat.state, stat.parent), (42, 'S', 7));
        assert_eq!((stat.minor_faults, stat.major_faults, stat.awaited), (10, 12, 33));
        for cut in ["", "42 (a) S 7 42", "42 (a", "x (a) S 7 42 42 0 -1 4194304 10 11 12 13"] {
            assert_eq!(Stat::parse(cut), None, "{cut}");
        }
        let own = Stat::read(std::process::id() as i32).unwrap();
        assert!(living().iter().any(|stat| stat.pid == own.pid) && !threads(own.pid).is_empty());
    }
}
