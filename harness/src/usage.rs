//! What a run took from the system: CPU time, switches, faults, memory.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::interrupts::Interrupts;
use crate::machine;

/// CPU time, context switches and page faults of the whole process, all its threads included,
/// as getrusage(2) counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode, in ns (the kernel counts in µs).
    pub user: u64,
    /// CPU time in the kernel, in ns.
    pub system: u64,
    /// Times a thread gave up its CPU by itself: it waited for something.
    pub voluntary_switches: u64,
    /// Times the scheduler took a CPU from a thread that could have gone on.
    pub involuntary_switches: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
}

impl Usage {
    /// Reads the counters of this process.
    ///
    /// # Errors
    /// What getrusage(2) reports.
    pub fn now() -> nix::Result<Self> {
        let u = getrusage(UsageWho::RUSAGE_SELF)?;
        let ns = |t: TimeVal| {
            (Duration::from_secs(t.tv_sec().unsigned_abs())
                + Duration::from_micros(t.tv_usec().unsigned_abs()))
            .as_nanos() as u64
        };
        Ok(Usage {
            user: ns(u.user_time()),
            system: ns(u.system_time()),
            voluntary_switches: u.voluntary_context_switches().unsigned_abs(),
            involuntary_switches: u.involuntary_context_switches().unsigned_abs(),
            minor_faults: u.minor_page_faults().unsigned_abs(),
            major_faults: u.major_page_faults().unsigned_abs(),
        })
    }

    /// What was used since `before`.
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
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

impl std::ops::Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            user: self.user.saturating_add(other.user),
            system: self.system.saturating_add(other.system),
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
        }
    }
}

/// The threads of a process that are alive; `None` where it is gone, or hidden.
#[cfg(feature = "perf")]
pub(crate) fn threads(pid: Pid) -> Option<Vec<Pid>> {
    let folder = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let ids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Some(ids.map(Pid::from_raw).collect())
}

/// What went on in the system in the meantime, where the kernel tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interference {
    /// Time that the hypervisor gave to others, all CPUs together, in ns (counted in ticks).
    pub steal: Option<u64>,
    /// Time for which a CPU quota of the control group stopped its threads, in ns.
    pub throttled: Option<u64>,
    /// Interrupts by which one CPU called another, those of wake-ups among them: of the whole system
    /// (see [`Interrupts::wakeups`]).
    #[serde(default)]
    pub wakeup_interrupts: Option<u64>,
}

impl Interference {
    /// Reads the totals so far.
    pub fn now() -> Self {
        Interference {
            steal: CpuTime::now().steal,
            throttled: machine::throttled(),
            wakeup_interrupts: Interrupts::now().wakeups(),
        }
    }

    /// What was added since `before`; a figure that is missing on either side stays missing.
    pub fn since(self, before: Interference) -> Interference {
        let difference = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Interference {
            steal: difference(self.steal, before.steal),
            throttled: difference(self.throttled, before.throttled),
            // Not saturating: a total that fell was counted over other CPUs, or began again.
            wakeup_interrupts: self
                .wakeup_interrupts
                .zip(before.wakeup_interrupts)
                .and_then(|(now, then)| now.checked_sub(then)),
        }
    }
}

/// What all CPUs together did, in ns, counted in ticks: the `cpu` line of /proc/stat
/// (proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    /// Nothing, waiting for I/O or not: the fourth and the fifth number.
    pub(crate) idle: Option<u64>,
    /// What the hypervisor gave to others: the eighth.
    pub(crate) steal: Option<u64>,
}

impl CpuTime {
    /// Reads the totals so far.
    pub(crate) fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat");
        stat.map_or_else(|_| CpuTime::default(), |text| CpuTime::parse(&text))
    }

    fn parse(stat: &str) -> Self {
        let line = stat
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("cpu "));
        let number = |n| nanoseconds(line?.split_whitespace().nth(n)?.parse().ok()?);
        CpuTime {
            idle: number(3)
                .zip(number(4))
                .map(|(idle, waiting)| idle.saturating_add(waiting)),
            steal: number(7),
        }
    }
}

/// The kernel's ticks in ns.
fn nanoseconds(ticks: u64) -> Option<u64> {
    let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    let tick = 1_000_000_000u64.checked_div(per_second.unsigned_abs())?;
    Some(ticks.saturating_mul(tick))
}

/// The largest resident set that this process has had, in bytes (VmHWM in proc_pid_status(5)). Unlike
/// getrusage(2)'s it is not that of the program which this process was before execve(2).
pub(crate) fn peak_resident() -> Option<u64> {
    kib(&read("/proc/self/status"), "VmHWM")
}

/// How many threads this process has (Threads in proc_pid_status(5)).
pub(crate) fn thread_count() -> Option<u64> {
    field(&read("/proc/self/status"), "Threads")
}

/// The number after `name` in a file of `name value` or `name: value kB` lines.
pub fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()?.trim_end_matches(':') == name)
            .then(|| words.next()?.parse().ok())
            .flatten()
    })
}

/// A file's text; empty where there is none.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The bytes of a line in kB, by which /proc means KiB.
fn kib(text: &str, name: &str) -> Option<u64> {
    Some(field(text, name)?.saturating_mul(1024))
}

/// The memory of this process, and the kernel's memory of the whole system, in bytes.
///
/// Resident sizes come from `smaps_rollup`: the counters behind VmRSS and statm lag, since each
/// thread keeps its own until it has 64 pages to add (Documentation/filesystems/proc.rst).
///
/// Where the tasks are processes it is the memory of all of them, with shared pages divided by their
/// users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Resident set. Where the tasks are processes: as `proportional`, also before they exist.
    pub resident: Option<u64>,
    /// Resident set, shared pages divided by their users.
    pub proportional: Option<u64>,
    /// Resident anonymous memory: heap and stacks.
    pub anonymous: Option<u64>,
    /// The part of it in transparent huge pages.
    pub huge: Option<u64>,
    /// Reserved address space.
    pub virtual_size: Option<u64>,
    /// Page tables of this process.
    pub page_tables: Option<u64>,
    /// Kernel stacks of the whole system.
    pub system_kernel_stacks: Option<u64>,
    /// Page tables of the whole system.
    pub system_page_tables: Option<u64>,
    /// Slab memory of the whole system that cannot be reclaimed.
    pub system_slab: Option<u64>,
}

impl Memory {
    /// Reads all that this system offers.
    pub fn now() -> Self {
        Memory::of_process("self", "Anonymous").with_system()
    }

    /// This, and the kernel's memory of the whole system.
    pub(crate) fn with_system(self) -> Self {
        let meminfo = read("/proc/meminfo");
        Memory {
            system_kernel_stacks: kib(&meminfo, "KernelStack"),
            system_page_tables: kib(&meminfo, "PageTables"),
            system_slab: kib(&meminfo, "SUnreclaim"),
            ..self
        }
    }

    /// What a process holds among others; nothing of the whole system. Its anonymous memory is divided by
    /// those that share it (Linux 5.4), as a child does with its parent until one of them writes.
    pub(crate) fn of(pid: Pid) -> Self {
        Memory::of_process(&pid.to_string(), "Pss_Anon")
    }

    fn of_process(process: &str, anonymous: &str) -> Self {
        let rollup = read(&format!("/proc/{process}/smaps_rollup"));
        let status = read(&format!("/proc/{process}/status"));
        Memory {
            resident: kib(&rollup, "Rss"),
            proportional: kib(&rollup, "Pss"),
            anonymous: kib(&rollup, anonymous),
            huge: kib(&rollup, "AnonHugePages"),
            virtual_size: kib(&status, "VmSize"),
            page_tables: kib(&status, "VmPTE"),
            ..Memory::default()
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text =
            "SwapTotal: 5 kB\nRss:                2384 kB\nPss_Dirty: 3 kB\nPss: 4 kB\nbroken\n";
        assert_eq!(field(text, "Rss"), Some(2384));
        assert_eq!(field(text, "Pss"), Some(4));
        assert_eq!(field(text, "broken"), None);
    }

    #[test]
    fn cpu_times_are_found_by_their_place() {
        // 100 ticks a second on every architecture that Linux runs on today.
        let all = CpuTime {
            idle: Some(90_000_000),
            steal: Some(80_000_000),
        };
        assert_eq!(CpuTime::parse("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1"), all);
        assert_eq!(CpuTime::parse("cpu  1 2 3"), CpuTime::default());
        assert_eq!(CpuTime::parse(""), CpuTime::default());
    }

    #[test]
    fn this_process_has_memory_and_has_used_time() {
        assert!(Memory::now().resident.unwrap() > 100 * 1024);
        let before = Usage::now().unwrap();
        std::thread::sleep(Duration::from_millis(1));
        assert!(Usage::now().unwrap().since(before).voluntary_switches >= 1);
    }
}
