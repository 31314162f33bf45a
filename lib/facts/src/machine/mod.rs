//! The machine: facts that the kernel tells, once at the start of a run.

mod clock;
mod cpu;
pub mod cpu_map;
mod facts;
#[cfg(test)]
mod tests;
mod virt;

use std::path::Path;

pub use facts::*;

use crate::cgroup::ControlGroups;
use crate::source::{Source, pressure, rlimit, word_after};

/// Reads the facts of the running system, and measures its clock.
pub fn read() -> Machine {
    let mut machine = read_under(Path::new("/"));
    machine.architecture.get_or_insert_with(|| std::env::consts::ARCH.to_owned());
    let clock = clock::measure();
    machine.clock_step_ns = clock.step_ns;
    machine.clock_read_ns = clock.read_ns;
    machine
}

/// Reads the facts found in `/proc`, `/sys` and `/etc` below a root folder.
pub fn read_under(root: &Path) -> Machine {
    let source = Source::new(root);
    let mut machine = Machine::default();
    read_kernel(&mut machine, &source);
    read_cpu(&mut machine, &source);
    read_memory(&mut machine, &source);
    read_process(&mut machine, &source);
    machine
}

fn read_kernel(machine: &mut Machine, source: &Source) {
    machine.kernel_release = source.text("/proc/sys/kernel/osrelease");
    machine.kernel_version = source.text("/proc/sys/kernel/version");
    machine.preemption = machine.kernel_version.as_deref().map(preemption_model);
    machine.preemption_mode = source.chosen("/sys/kernel/debug/sched/preempt", '(', ')');
    machine.preemption_boot = source.text("/proc/cmdline").map(|line| {
        // The last one counts.
        let mut words = line.split_whitespace().rev();
        let mode = words.find_map(|word| word.strip_prefix("preempt="));
        mode.unwrap_or("default").to_owned()
    });
    machine.architecture = source.text("/proc/sys/kernel/arch");
    machine.distribution = os_release(source, "PRETTY_NAME=");
    machine.clock_source =
        source.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    machine.sched_autogroup = source.flag("/proc/sys/kernel/sched_autogroup_enabled");
    machine.perf_event_paranoid = source.number("/proc/sys/kernel/perf_event_paranoid").ok();
    machine.io_uring_disabled = source.number("/proc/sys/kernel/io_uring_disabled").ok();
    machine.load_average = source.text("/proc/loadavg").and_then(|text| load(&text));
    let waiting = |resource| pressure(source, resource, "avg10=").and_then(finite);
    machine.pressure =
        StartPressure { cpu: waiting("cpu"), memory: waiting("memory"), io: waiting("io") };
}

fn read_cpu(machine: &mut Machine, source: &Source) {
    let info = cpu::Info::read(source);
    machine.cpu_model = info.model();
    machine.cpus_online = source.text("/sys/devices/system/cpu/online");
    machine.topology = cpu::topology(source, machine.cpus_online.as_deref());
    machine.smt_active = source.flag("/sys/devices/system/cpu/smt/active");
    machine.numa_nodes = source
        .text("/sys/devices/system/node/online")
        .and_then(|list| cpu_list(&list))
        .and_then(|nodes| u32::try_from(nodes.len()).ok());
    machine.caches = cpu::caches(source, 0);
    let cpufreq = "/sys/devices/system/cpu/cpu0/cpufreq";
    machine.base_frequency_khz = source.number(&format!("{cpufreq}/base_frequency")).ok();
    machine.max_frequency_khz = source.number(&format!("{cpufreq}/cpuinfo_max_freq")).ok();
    machine.frequency_driver = source.text(&format!("{cpufreq}/scaling_driver"));
    machine.governor = cpu::governor(source);
    machine.boost = cpu::boost(source);
    machine.idle_driver = source.text("/sys/devices/system/cpu/cpuidle/current_driver");
    machine.mitigations = cpu::mitigations(source);
    let dmi = virt::Dmi::read(source);
    machine.virtualisation = virt::hypervisor(source, &info, &dmi);
    machine.hardware = dmi.hardware();
}

fn read_memory(machine: &mut Machine, source: &Source) {
    let huge = "/sys/kernel/mm/transparent_hugepage";
    machine.thp_enabled = source.chosen(&format!("{huge}/enabled"), '[', ']');
    machine.thp_defrag = source.chosen(&format!("{huge}/defrag"), '[', ']');
    // procfs demands every line of the file, which some emulated kernels lack.
    let info = source.text("/proc/meminfo").unwrap_or_default();
    let bytes = |key| word_after::<u64>(&info, key)?.checked_mul(1024);
    machine.memory_total_bytes = bytes("MemTotal:");
    machine.swap_total_bytes = bytes("SwapTotal:");
}

fn read_process(machine: &mut Machine, source: &Source) {
    machine.timer_slack_ns = source.number("/proc/self/timerslack_ns").ok();
    if let Some(status) = source.text("/proc/self/status") {
        machine.affinity = word_after(&status, "Cpus_allowed_list:");
        machine.seccomp = word_after(&status, "Seccomp:").map(|mode: u8| mode > 0);
    }
    if let Ok(groups) = ControlGroups::read(source) {
        machine.cpu_quota = cpu_quota(source, &groups);
        machine.memory_limit = memory_limit(source, &groups);
    }
    machine.rlimits = rlimits(source);
}

/// A value of `os-release`, without its quotes.
fn os_release(source: &Source, key: &str) -> Option<String> {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    let text = files.iter().find_map(|path| source.text(path))?;
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    let name = value.trim().trim_matches(['"', '\'']).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn preemption_model(version: &str) -> String {
    version
        .split_whitespace()
        .find(|word| word.starts_with("PREEMPT"))
        .unwrap_or("none or voluntary")
        .to_owned()
}

fn load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map(|word| finite(word.parse().ok()?));
    Some([words.next()??, words.next()??, words.next()??])
}

/// JSON has no infinity: a line with one could not be read back.
fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

fn rlimits(source: &Source) -> Rlimits {
    let limits = source.text("/proc/self/limits").unwrap_or_default();
    let bound = |value| match value {
        u64::MAX => Bound::Unlimited,
        value => Bound::At(value),
    };
    let limit = |name| {
        let (soft, hard) = rlimit(&limits, name)?;
        Some(Rlimit { soft: bound(soft), hard: bound(hard) })
    };
    Rlimits {
        nofile: limit("Max open files"),
        nproc: limit("Max processes"),
        stack: limit("Max stack size"),
        address_space: limit("Max address space"),
    }
}

/// Tightest quota of the process's group and its ancestors. A group without the file has no limit; one
/// with an unknown text leaves the quota unknown.
fn cpu_quota(source: &Source, groups: &ControlGroups) -> Option<CpuQuota> {
    let groups = groups.own(source, "cpu")?;
    let quota = |folder: &String| {
        if groups.version_2 {
            // `max 100000` or `50000 100000`.
            let text = source.text(&format!("{folder}/cpu.max"))?;
            return Some(text.split_once(' ').and_then(|(quota, period)| limited(quota, period)));
        }
        let quota = source.text(&format!("{folder}/cpu.cfs_quota_us"))?;
        let period = source.text(&format!("{folder}/cpu.cfs_period_us"))?;
        Some(limited(&quota, &period))
    };
    let quotas: Option<Vec<CpuQuota>> = groups.folders.iter().filter_map(quota).collect();
    let share = |quota: &CpuQuota| quota.cpus().unwrap_or(f64::INFINITY);
    let tightest = quotas?.into_iter().min_by(|one, other| share(one).total_cmp(&share(other)));
    Some(tightest.unwrap_or(CpuQuota::Unlimited))
}

/// A quota and its period; `max` and -1 are no limit.
fn limited(quota: &str, period: &str) -> Option<CpuQuota> {
    if ["max", "-1"].contains(&quota) {
        return Some(CpuQuota::Unlimited);
    }
    Some(CpuQuota::Limited {
        quota_us: quota.parse().ok()?,
        period_us: period.parse().ok().filter(|&period| period > 0)?,
    })
}

/// Lowest memory limit of the process's group and its ancestors.
fn memory_limit(source: &Source, groups: &ControlGroups) -> Option<Bound> {
    // Version 1 writes LONG_MAX rounded down to a page if no limit is set.
    const NO_LIMIT: u64 = 1 << 62;
    let groups = groups.own(source, "memory")?;
    let file = if groups.version_2 { "memory.max" } else { "memory.limit_in_bytes" };
    let numbers = groups
        .folders
        .iter()
        .filter_map(|folder| source.number::<u64>(&format!("{folder}/{file}")).ok());
    let lowest = numbers.filter(|bytes| *bytes < NO_LIMIT).min();
    Some(lowest.map_or(Bound::Unlimited, Bound::At))
}
