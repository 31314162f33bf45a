//! Facts of the machine that a result was measured on.

use std::collections::BTreeMap;

use contract::units::counted;
use serde::{Deserialize, Serialize};

use crate::differing;

/// Facts that belong to a run, or that follow from others, and so are not compared.
const NOT_COMPARED: [&str; 8] = [
    "topology",
    "caches",
    "clock_step_ns",
    "memory_limit",
    "rlimits",
    "memory_total_bytes",
    "load_average",
    "pressure",
];

/// Facts of a machine and of the circumstances when a run started.
///
/// `None` and an empty collection mean unknown. Host name, user, serial numbers and names of control
/// groups are left out: results are published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// `uname -r`.
    pub kernel_release: Option<String>,
    /// `uname -v`.
    pub kernel_version: Option<String>,
    /// `PREEMPT...` word of the version string, or `none or voluntary` if it has none.
    pub preemption: Option<String>,
    /// Mode in force under `PREEMPT_DYNAMIC`, from debugfs, which usually only root can read.
    pub preemption_mode: Option<String>,
    /// `preempt=` of the kernel's command line, or `default` if it has none.
    pub preemption_boot: Option<String>,
    /// `PRETTY_NAME` of os-release. Inside a container it is the image's.
    pub distribution: Option<String>,
    /// Model of the CPU. On AArch64 implementer and part, with a name if it is a common one.
    pub cpu_model: Option<String>,
    /// CPUs online, as a list: `0-3,8`.
    pub cpus_online: Option<String>,
    /// CPUs that the runner may use when it starts.
    pub affinity: Option<String>,
    /// Sockets, cores and hardware threads, of the CPUs online.
    pub topology: Topology,
    /// Caches of CPU 0.
    pub caches: Vec<CpuCache>,
    /// Cpufreq driver. The same governor means different things under different drivers.
    pub frequency_driver: Option<String>,
    /// Cpufreq governor; several are joined by commas.
    pub governor: Option<String>,
    /// The CPU may exceed its base frequency.
    pub boost: Option<bool>,
    /// Cpuidle driver: how deeply an idle CPU sleeps is part of what a wake-up costs.
    pub idle_driver: Option<String>,
    /// How long an idle CPU of a guest looks for work before it halts, at most, in ns: the limit of the haltpoll driver
    /// (Documentation/virt/guest-halt-polling.rst of Linux); `None` under another driver.
    pub halt_poll_ns: Option<u64>,
    /// Hypervisor (`KVM`, `Xen`, ...), `unnamed` or `none`.
    pub virtualisation: Option<String>,
    /// Maker and product of the machine as its firmware tells them (DMI).
    pub hardware: Option<String>,
    /// State of each known CPU weakness.
    pub mitigations: BTreeMap<String, String>,
    /// Clock source in use.
    pub clock_source: Option<String>,
    /// Smallest positive difference of two successive readings of `Instant`, in ns.
    pub clock_step_ns: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub thp_enabled: Option<String>,
    /// Effort to find a huge page at a fault.
    pub thp_defrag: Option<String>,
    /// Each session is scheduled as one group.
    pub sched_autogroup: Option<bool>,
    /// Timer slack of the runner when it starts, in ns.
    pub timer_slack_ns: Option<u64>,
    /// System calls pass through a seccomp filter, which makes each of them slower.
    pub seccomp: Option<bool>,
    /// CPU time that the control group may use: the tightest of its own and its ancestors'.
    pub cpu_quota: Option<CpuQuota>,
    /// Memory that the control group may use, in bytes: the tightest of its own and its ancestors'.
    pub memory_limit: Option<Bound>,
    /// Resource limits of the runner when it starts.
    pub rlimits: Rlimits,
    /// Usable memory in bytes (MemTotal).
    pub memory_total_bytes: Option<u64>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Pressure on CPUs, memory and I/O.
    pub pressure: StartPressure,
}

/// Share of the last ten seconds in which some task waited for a resource, in per cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartPressure {
    /// Runnable, with no CPU to run on.
    pub cpu: Option<f64>,
    /// Waiting for memory.
    pub memory: Option<f64>,
    /// Waiting for I/O.
    pub io: Option<f64>,
}

/// CPU time that a control group may use. In JSON `"unlimited"` or an object with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuQuota {
    /// No control group in sight limits it.
    Unlimited,
    /// Tightest limit found.
    #[serde(untagged)]
    Limited {
        /// CPU time in each period, in µs.
        quota_us: u64,
        /// Period in µs.
        #[serde(deserialize_with = "contract::message::positive")]
        period_us: u64,
    },
}

impl CpuQuota {
    /// Number of CPUs; `None` if there is no limit.
    pub fn cpus(self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Limited { quota_us, period_us } => Some(quota_us as f64 / period_us as f64),
        }
    }
}

impl Machine {
    /// Summary in one line. Unknown facts are left out, except for the CPU's model.
    pub fn summary(&self) -> String {
        let model = self.cpu_model.as_deref().unwrap_or("unknown CPU");
        let mut parts = vec![model.to_owned()];
        if let Some(cpus) = self.cpus_online.as_deref().and_then(cpu_list) {
            let threads = self.topology.threads_per_core;
            let threads = threads.map(|count| format!(" ({} per core)", counted(count, "thread")));
            parts.push(counted(cpus.len(), "CPU") + &threads.unwrap_or_default());
        }
        if let Some(cpus) = self.cpu_quota.and_then(CpuQuota::cpus) {
            parts.push(format!("cgroup limit {cpus:.2} CPUs"));
        }
        parts.extend(self.virtualisation.as_deref().map(|name| match name {
            "none" => "no hypervisor".to_owned(),
            "unnamed" => "virtual".to_owned(),
            name => format!("virtual ({name})"),
        }));
        if let Some(release) = &self.kernel_release {
            let model = match (&self.preemption, &self.preemption_mode) {
                (Some(model), Some(mode)) => format!(" {model} ({mode})"),
                (Some(model), None) if model.starts_with("PREEMPT") => format!(" {model}"),
                _ => String::new(),
            };
            parts.push(format!("Linux {release}{model}"));
        }
        parts.extend(self.idling());
        if let Some(bytes) = self.memory_total_bytes {
            parts.push(format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)));
        }
        parts.join(", ")
    }

    /// What an idle CPU does, in a few words.
    pub fn idling(&self) -> Option<String> {
        let polls = self.halt_poll_ns.map(|ns| format!(" (polls up to {} µs)", ns / 1000));
        Some(match self.idle_driver.as_deref()? {
            "none" => "no idle driver".to_owned(),
            driver => format!("idle driver {driver}{}", polls.unwrap_or_default()),
        })
    }

    /// Names of the facts that differ in a way that voids a comparison, if both sides know them.
    pub fn same_machine(&self, other: &Self) -> Vec<String> {
        let mut names = differing(self, other);
        names.retain(|name| !NOT_COMPARED.contains(&name.as_str()));
        names
    }
}

/// One limit. In JSON a number or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No limit.
    Unlimited,
    /// Limit in the resource's own unit.
    #[serde(untagged)]
    At(u64),
}

impl From<u64> for Bound {
    /// A number of the kernel, which writes no limit as the largest one; version 1 of control groups as `LONG_MAX`
    /// rounded down to a page.
    fn from(number: u64) -> Self {
        if number < 1 << 62 { Bound::At(number) } else { Bound::Unlimited }
    }
}

/// A resource limit of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimit {
    /// Limit in force.
    pub soft: Bound,
    /// Largest soft limit that the process may set by itself.
    pub hard: Bound,
}

/// Resource limits that bound the number of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rlimits {
    /// Open file descriptors (`RLIMIT_NOFILE`).
    pub nofile: Option<Rlimit>,
    /// Threads of the user (`RLIMIT_NPROC`).
    pub nproc: Option<Rlimit>,
    /// Bytes of the main thread's stack (`RLIMIT_STACK`).
    pub stack: Option<Rlimit>,
    /// Bytes of address space (`RLIMIT_AS`).
    pub address_space: Option<Rlimit>,
}

/// Number of sockets, cores and hardware threads, of the CPUs online.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// Physical packages.
    pub sockets: Option<u32>,
    /// Cores in all sockets.
    pub cores: Option<u32>,
    /// Hardware threads online in the core that has most of them.
    pub threads_per_core: Option<u32>,
}

/// A cache of a CPU, as records hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuCache {
    /// 1 is nearest to the core.
    pub level: Option<u8>,
    /// `Data`, `Instruction` or `Unified`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// CPUs that share it, as a list.
    pub shared_cpu_list: Option<String>,
}

/// CPUs of a list such as `0-3,8`, in the order given; `None` if it is no such list.
pub fn cpu_list(text: &str) -> Option<Vec<u32>> {
    // Linux supports at most 8192 CPUs. A longer list must not take the memory it asks for.
    const MOST: u32 = 8192;
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST || cpus.len() > MOST as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The list of some CPUs, in ascending order.
pub fn cpu_ranges(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == cpu => *end = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let texts =
        ranges.iter().map(
            |(start, end)| {
                if start == end { start.to_string() } else { format!("{start}-{end}") }
            },
        );
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_bounded() {
        assert_eq!(cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        for list in ["", "a", "3-1", "0-", "0-4294967295", "0,,1"] {
            assert_eq!(cpu_list(list), None, "{list}");
        }
    }
}
