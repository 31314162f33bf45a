//! What the rest of the system does: times of CPUs, waits and interrupts.

use std::collections::BTreeMap;
use std::str::FromStr;

use record::{Account, Waits};

use crate::usage::tick_ns;
use host::cgroup::ControlGroups;
use host::source::{Source, word_after};

/// What each CPU that is online did since the system booted, by its number, as far as the kernel tells it in ticks: it was
/// busy, idle or stolen. None if the system does not tell.
pub fn cpu_times() -> BTreeMap<u32, Account> {
    times(&Source::system().read("/proc/stat").unwrap_or_default(), tick_ns())
}

/// Times of CPUs as /proc/stat tells them, in ticks of so many ns.
fn times(text: &str, tick: u64) -> BTreeMap<u32, Account> {
    text.lines().filter_map(|line| times_of_cpu(line, tick)).collect()
}

fn times_of_cpu(line: &str, tick: u64) -> Option<(u32, Account)> {
    let (cpu, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
    let ticks: Option<Vec<u64>> = ticks.split_whitespace().map(|n| n.parse().ok()).collect();
    let ns: Vec<u64> = ticks?.into_iter().map(|n| n.saturating_mul(tick)).collect();
    // user nice system idle iowait irq softirq steal: proc_stat(5). Time of guests is in user.
    let [user, nice, system, idle, iowait, irq, softirq, stolen, ..] = ns[..] else {
        return None;
    };
    let busy = [user, nice, system, irq, softirq].into_iter().fold(0, u64::saturating_add);
    // A CPU that waits for a disk is idle, too.
    let idle = idle.saturating_add(iowait);
    Some((cpu.parse().ok()?, Account { busy, idle, stolen, ..Account::default() }))
}

/// Waits since the system booted.
pub fn waits() -> Waits {
    waits_of(&Source::system())
}

fn waits_of(source: &Source) -> Waits {
    let [cpu_pressure, memory_pressure, io_pressure] = ["cpu", "memory", "io"].map(|resource| {
        pressure::<u64>(source, resource, "total=").and_then(|micros| micros.checked_mul(1000))
    });
    Waits { throttled: throttled(source), cpu_pressure, memory_pressure, io_pressure }
}

/// Interrupts from one CPU to another since the system booted; `None` if the system does not tell.
pub fn interrupts() -> Option<u64> {
    interrupts_of(&Source::system().read("/proc/interrupts").unwrap_or_default())
}

fn interrupts_of(interrupts: &str) -> Option<u64> {
    // By their description: RES and CAL on x86, IPI0 and IPI1 on arm64 and RISC-V. A wake-up on an idle CPU counts under
    // the second if the scheduler queues it there (ttwu_queue_wakelist, kernel/sched/core.c).
    let names = ["Rescheduling interrupts", "Function call interrupts"];
    let counts = names.iter().filter_map(|name| interrupt(interrupts, name));
    counts.reduce(u64::saturating_add)
}

/// Sum over all CPUs of an interrupt's line.
fn interrupt(interrupts: &str, description: &str) -> Option<u64> {
    let line = interrupts.lines().find(|line| line.trim_end().ends_with(description))?;
    let (_, counts) = line.split_once(':')?;
    let counts = counts.split_whitespace();
    let mut counts = counts.map_while(|word| word.parse().ok()).peekable();
    counts.peek()?;
    counts.try_fold(0, u64::checked_add)
}

/// Longest time, in ns, for which a quota of the process's group or of an ancestor stopped it. Each
/// counts its own quota alone, and the times overlap.
fn throttled(source: &Source) -> Option<u64> {
    let groups = ControlGroups::read(source).visible_groups(source, "cpu")?;
    let files = groups.folders.iter().map(|folder| format!("{folder}/cpu.stat"));
    let texts = files.filter_map(|file| source.text(&file));
    let times = texts.filter_map(|text| match word_after::<u64>(&text, "throttled_usec ") {
        Some(micros) => micros.checked_mul(1000),
        None => word_after(&text, "throttled_time "),
    });
    times.max()
}

/// A value of the line of `/proc/pressure/*` that counts when some task waits.
pub(crate) fn pressure<T: FromStr>(source: &Source, resource: &str, key: &str) -> Option<T> {
    let text = source.text(&format!("/proc/pressure/{resource}"))?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let value = some.split(' ').find_map(|word| word.strip_prefix(key))?;
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::fixtures::Root;

    const X86: &str = "\
           CPU0       CPU1
  8:          0          7  IO-APIC   8-edge      rtc0
RES:      41572      36206  Rescheduling interrupts
CAL:     145879     128572  Function call interrupts
";

    const ARM64: &str = "\
           CPU0       CPU1       CPU2       CPU3
IPI0:       100        200        300        400       Rescheduling interrupts
IPI1:         1          2          3          4       Function call interrupts
";

    #[test]
    fn interrupts_are_known_by_their_description() {
        for (text, expected) in [
            (X86, Some(41572 + 36206 + 145_879 + 128_572)),
            (ARM64, Some(1010)),
            ("IPI0: 1 2 Rescheduling interrupts", Some(3)),
            ("RES: Rescheduling interrupts", None),
            ("CAL: x 3 Function call interrupts\n", None),
        ] {
            assert_eq!(interrupts_of(text), expected);
        }
    }

    #[test]
    fn the_longest_throttling_counts() {
        let throttled = |lines| throttled(&Root::new(lines).source());
        let version_2 = "\
/proc/self/cgroup: 0::/a/b
/proc/self/mountinfo: 31 23 0:28 / /g rw shared:4 - cgroup2 cgroup2 rw
/g/cpu.stat: usage_usec 5
/g/a/cpu.stat: throttled_usec 70
/g/a/b/cpu.stat: throttled_usec 0";
        assert_eq!(throttled(version_2), Some(70_000));
        let version_1 = "\
/proc/self/cgroup: 1:cpu,cpuacct:/b
/proc/self/mountinfo: 32 31 0:29 / /g rw - cgroup cgroup rw,cpu,cpuacct
/g/b/cpu.stat: throttled_time 12";
        assert_eq!(throttled(version_1), Some(12));
    }

    #[test]
    fn what_no_kernel_shows_is_bounded_or_absent() {
        let most = u64::MAX;
        let root = Root::new(&format!(
            "/proc/pressure/cpu: some avg10=0.00 total={most}\n/proc/pressure/io: some total=-1"
        ));
        assert_eq!(waits_of(&root.source()), Waits::default());
        let cpu = times(&format!("cpu0 1 2 3 {most} {most} 6 7 {most} 0 0"), 10)[&0];
        assert_eq!((cpu.busy, cpu.idle, cpu.stolen), (190, most, most));
        assert_eq!(interrupt(&format!("RES: {most} 1 x"), "x"), None);
    }

    #[test]
    fn a_cpu_is_known_by_its_number_if_another_is_offline() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 9 0\ncpu2 0 0 0 70 0 0 0 30 0 0\nintr 1\n";
        let times = times(text, 10);
        let one = Account { busy: 190, idle: 90, stolen: 80, ..Account::default() };
        let other = Account { busy: 0, idle: 700, stolen: 300, ..Account::default() };
        assert_eq!(times, BTreeMap::from([(0, one), (2, other)]));
    }
}
