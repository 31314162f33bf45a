//! The machine that a result was measured on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::differ;

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
    /// `PREEMPT...` word of the version string, or `none or voluntary` where it has none: the kernel
    /// names neither of those.
    pub preemption: Option<String>,
    /// Mode in force under `PREEMPT_DYNAMIC` (`none`, `voluntary`, `full`, `lazy`), from debugfs,
    /// which usually only root can read.
    pub preemption_mode: Option<String>,
    /// `preempt=` of the kernel's command line, or `default` where it has none.
    pub preemption_boot: Option<String>,
    /// `uname -m`.
    pub architecture: Option<String>,
    /// `PRETTY_NAME` of os-release. Inside a container it is the image's.
    pub distribution: Option<String>,
    /// Model of the CPU. On AArch64 implementer and part, with a name where it is a common one.
    pub cpu_model: Option<String>,
    /// CPUs online, as a list: `0-3,8`.
    pub cpus_online: Option<String>,
    /// CPUs that the runner may use when it starts.
    pub affinity: Option<String>,
    /// Sockets, cores and hardware threads, of the CPUs online.
    pub topology: Topology,
    /// Sibling hardware threads are in use.
    pub smt_active: Option<bool>,
    /// NUMA nodes online.
    pub numa_nodes: Option<u32>,
    /// Caches of CPU 0.
    pub caches: Vec<Cache>,
    /// Frequency without boost of CPU 0, in kHz; few drivers tell it.
    pub base_frequency_khz: Option<u64>,
    /// Highest frequency of CPU 0, in kHz.
    pub max_frequency_khz: Option<u64>,
    /// Cpufreq driver. The same governor means different things under different drivers.
    pub frequency_driver: Option<String>,
    /// Cpufreq governor; several are joined by commas.
    pub governor: Option<String>,
    /// The CPU may exceed its base frequency.
    pub boost: Option<bool>,
    /// Cpuidle driver: how deeply an idle CPU sleeps is part of what a wake-up costs.
    pub idle_driver: Option<String>,
    /// Hypervisor (`KVM`, `Xen`, ...), `unnamed` where there is one that nothing names, `none` where
    /// the CPU's flags show none.
    pub virtualisation: Option<String>,
    /// Maker and product of the machine as its firmware tells them (DMI).
    pub hardware: Option<String>,
    /// State of each known CPU weakness.
    pub mitigations: BTreeMap<String, String>,
    /// Clock source in use.
    pub clock_source: Option<String>,
    /// Smallest positive difference of two successive readings of `Instant`, in ns.
    pub clock_step_ns: Option<u64>,
    /// Median time to read `Instant`, in ns.
    pub clock_read_ns: Option<f64>,
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
    /// Swap space in bytes; 0 is none.
    pub swap_total_bytes: Option<u64>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Pressure on CPU, memory and I/O.
    pub pressure: StartPressure,
    /// `kernel.perf_event_paranoid`: who may use perf events.
    pub perf_event_paranoid: Option<i32>,
    /// `kernel.io_uring_disabled`: 0 anyone may use it, 1 one group, 2 nobody.
    pub io_uring_disabled: Option<u32>,
}

/// Share of the last ten seconds in which some task waited for a resource, in per cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartPressure {
    /// Runnable, with no CPU to run on.
    pub cpu: Option<f64>,
    /// Waiting for memory.
    pub memory: Option<f64>,
    /// Waiting for block I/O.
    pub io: Option<f64>,
}

/// Arrangement of the CPUs online.
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

/// One cache of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cache {
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
        period_us: u64,
    },
}

impl CpuQuota {
    /// Number of CPUs; `None` where there is no limit.
    pub fn cpus(self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Limited { quota_us, period_us } => Some(quota_us as f64 / period_us as f64),
        }
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

impl Machine {
    /// Summary in one line. Unknown facts are left out, except for the CPU's model.
    pub fn summary(&self) -> String {
        let model = self.cpu_model.as_deref().unwrap_or("unknown CPU");
        let mut parts = vec![model.to_owned()];
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        if let Some(cpus) = self.cpus_online.as_deref().and_then(cpu_list) {
            let threads = self.topology.threads_per_core.map(|count| {
                let plural = plural(count as usize);
                format!(" ({count} thread{plural} per core)")
            });
            let (count, threads) = (cpus.len(), threads.unwrap_or_default());
            parts.push(format!("{count} CPU{}{threads}", plural(count)));
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
        if let Some(bytes) = self.memory_total_bytes {
            parts.push(format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)));
        }
        parts.join(", ")
    }

    /// Names of the facts that differ in a way that voids a comparison, where both sides know them.
    ///
    /// Load, pressure and resource limits belong to a run and are not compared.
    pub fn same_machine(&self, other: &Self) -> Vec<&'static str> {
        macro_rules! differing {
            ($($fact:ident),* $(,)?) => {
                [$((stringify!($fact), differ(&self.$fact, &other.$fact))),*]
            };
        }
        let facts = differing![
            architecture,
            cpu_model,
            cpus_online,
            affinity,
            smt_active,
            numa_nodes,
            virtualisation,
            hardware,
            distribution,
            kernel_release,
            kernel_version,
            preemption,
            preemption_mode,
            frequency_driver,
            governor,
            boost,
            idle_driver,
            clock_source,
            thp_enabled,
            thp_defrag,
            sched_autogroup,
            timer_slack_ns,
            seccomp,
            cpu_quota,
        ];
        // The mode asked for at boot matters where the one in force is unknown.
        let preemption_boot = (self.preemption_mode.is_none() || other.preemption_mode.is_none())
            && differ(&self.preemption_boot, &other.preemption_boot);
        let mitigations = !self.mitigations.is_empty()
            && !other.mitigations.is_empty()
            && self.mitigations != other.mitigations;
        facts
            .into_iter()
            .chain([("preemption_boot", preemption_boot), ("mitigations", mitigations)])
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect()
    }
}

/// CPUs of a list such as `0-3,8`, in the order given; `None` where it is no such list.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            kernel_release: Some("6.18.44".to_owned()),
            preemption: Some("PREEMPT_DYNAMIC".to_owned()),
            preemption_mode: Some("lazy".to_owned()),
            preemption_boot: Some("full".to_owned()),
            cpu_model: Some("AMD EPYC 9R45".to_owned()),
            cpus_online: Some("0-1".to_owned()),
            virtualisation: Some("KVM".to_owned()),
            mitigations: [("meltdown".to_owned(), "Not affected".to_owned())].into(),
            topology: Topology { threads_per_core: Some(1), ..Topology::default() },
            cpu_quota: Some(CpuQuota::Limited { quota_us: 150_000, period_us: 100_000 }),
            rlimits: Rlimits {
                stack: Some(Rlimit { soft: Bound::At(8 << 20), hard: Bound::Unlimited }),
                ..Rlimits::default()
            },
            memory_total_bytes: Some(25_276_514_304),
            thp_enabled: Some("madvise".to_owned()),
            ..Machine::default()
        }
    }

    #[test]
    fn the_summary_leaves_out_what_is_unknown() {
        assert_eq!(
            machine().summary(),
            "AMD EPYC 9R45, 2 CPUs (1 thread per core), cgroup limit 1.50 CPUs, virtual (KVM), \
             Linux 6.18.44 PREEMPT_DYNAMIC (lazy), 23.5 GiB"
        );
        assert_eq!(Machine::default().summary(), "unknown CPU");
    }

    #[test]
    fn only_what_voids_a_comparison_differs() {
        let mut machine = machine();
        let mut other = machine.clone();
        other.load_average = Some([9.0; 3]);
        other.affinity = Some("0".to_owned());
        other.timer_slack_ns = Some(1);
        other.governor = Some("powersave".to_owned());
        other.preemption_boot = Some("none".to_owned());
        assert!(machine.same_machine(&other).is_empty());

        machine.affinity = Some("0-1".to_owned());
        machine.timer_slack_ns = Some(50_000);
        assert_eq!(machine.same_machine(&other), ["affinity", "timer_slack_ns"]);
        machine.affinity = None;
        machine.timer_slack_ns = None;

        other.preemption_mode = None;
        assert_eq!(machine.same_machine(&other), ["preemption_boot"]);
        other.preemption_boot = None;
        other.kernel_release = Some("6.1.0".to_owned());
        other.thp_enabled = Some("always".to_owned());
        other.mitigations = [("meltdown".to_owned(), "Vulnerable".to_owned())].into();
        let names = ["kernel_release", "thp_enabled", "mitigations"];
        assert_eq!(machine.same_machine(&other), names);
        assert_eq!(other.same_machine(&machine), names);
    }

    #[test]
    fn json_keeps_every_fact_and_lines_of_other_versions_parse() {
        let mut machine = machine();
        let line = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&line).unwrap(), machine);
        assert!(line.contains(r#""stack":{"soft":8388608,"hard":"unlimited"}"#));
        assert!(line.contains(r#""cpu_quota":{"quota_us":150000,"period_us":100000}"#));

        machine.cpu_quota = Some(CpuQuota::Unlimited);
        let line = serde_json::to_string(&machine).unwrap();
        assert!(line.contains(r#""cpu_quota":"unlimited""#));
        assert_eq!(serde_json::from_str::<Machine>(&line).unwrap(), machine);

        let other = r#"{"cpu_model":"X","topology":{"cores":2},"unknown_field":1}"#;
        let other: Machine = serde_json::from_str(other).unwrap();
        assert_eq!(other.topology.cores, Some(2));
    }

    #[test]
    fn lists_of_cpus_are_bounded() {
        assert_eq!(cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        for list in ["", "a", "3-1", "0-", "0-4294967295", "0,,1"] {
            assert_eq!(cpu_list(list), None, "{list}");
        }
    }
}
