//! The environment fingerprint: what a result was measured on, and from what it was built.
//!
//! A fact is read from the kernel or left out. `None` and an empty collection mean *unknown*;
//! nothing here is inferred from what is usual. Host name, user, serial numbers and cgroup names
//! are left out on purpose: results are meant to be published.

mod build_info;
mod cgroup;
mod clock;
mod cpu;
#[cfg(test)]
mod fixtures;
mod rlimits;
mod source;
#[cfg(test)]
mod tests;
mod virt;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use build_info::{Build, runtime_version};
pub use cgroup::CpuQuota;
pub use cpu::{Cache, Topology};
pub use rlimits::{Bound, Rlimit, Rlimits};

use source::{Source, cpu_list, word_after};

/// Share of the last ten seconds in which some task waited for a resource, in per cent:
/// `some avg10` of `/proc/pressure/*`. Unknown where the kernel does not account for it.
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

/// What a measurement ran on. Every fact is optional, and a line written by an older version,
/// with fewer of them, still parses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// `uname -r`, from `/proc/sys/kernel/osrelease`.
    pub kernel_release: Option<String>,
    /// `uname -v`, from `/proc/sys/kernel/version`.
    pub kernel_version: Option<String>,
    /// The `PREEMPT…` word of the version string, or `none or voluntary` where it has none:
    /// the kernel names neither of those two.
    pub preemption: Option<String>,
    /// The mode in force under `PREEMPT_DYNAMIC` (`none`, `voluntary`, `full`, `lazy`), from
    /// `/sys/kernel/debug/sched/preempt`, which usually only root can read.
    pub preemption_mode: Option<String>,
    /// `preempt=` of `/proc/cmdline`, the mode asked for at boot, or `default` where none is. It
    /// may have been changed since.
    pub preemption_boot: Option<String>,
    /// `uname -m`, from `/proc/sys/kernel/arch` (Linux 6.1); otherwise what this program was
    /// built for.
    pub architecture: Option<String>,
    /// `PRETTY_NAME` of `os-release`. Inside a container it is the image's.
    pub distribution: Option<String>,
    /// `model name` of `/proc/cpuinfo`; on AArch64 the implementer and part, with a name where
    /// the part is a common one.
    pub cpu_model: Option<String>,
    /// CPUs online, as a list: `0-3,8`.
    pub cpus_online: Option<String>,
    /// CPUs this process may run on when it starts: `Cpus_allowed_list` of `/proc/self/status`.
    pub affinity: Option<String>,
    /// Sockets, cores and hardware threads, of the CPUs online.
    pub topology: Topology,
    /// Whether sibling hardware threads are in use, from `/sys/devices/system/cpu/smt/active`.
    pub smt_active: Option<bool>,
    /// NUMA nodes online.
    pub numa_nodes: Option<u32>,
    /// Caches of CPU 0.
    pub caches: Vec<Cache>,
    /// Frequency without boost in kHz, of CPU 0 (`base_frequency`; few drivers tell it).
    pub base_frequency_khz: Option<u64>,
    /// Highest frequency in kHz, of CPU 0 (`cpuinfo_max_freq`).
    pub max_frequency_khz: Option<u64>,
    /// The cpufreq driver. The same governor means different things under different drivers.
    pub frequency_driver: Option<String>,
    /// The cpufreq governor; several, joined by commas, where the CPUs differ.
    pub governor: Option<String>,
    /// Whether the CPU may exceed its base frequency (`cpufreq/boost`, `intel_pstate/no_turbo`).
    pub boost: Option<bool>,
    /// The cpuidle driver: how deep an idle CPU sleeps is part of what a wake-up costs.
    pub idle_driver: Option<String>,
    /// The hypervisor (`KVM`, `Xen`, …), `unnamed` where there is one that nothing names, or
    /// `none` where the CPU's flags show none.
    pub virtualisation: Option<String>,
    /// Maker and product of the machine as its firmware tells them (DMI).
    pub hardware: Option<String>,
    /// State of each known CPU weakness, from `/sys/devices/system/cpu/vulnerabilities`.
    pub mitigations: BTreeMap<String, String>,
    /// The clock source in use.
    pub clock_source: Option<String>,
    /// Smallest positive difference of two successive readings of `Instant`, in ns. Where the
    /// clock steps faster than it can be read, this is the quickest reading instead.
    pub clock_step_ns: Option<u64>,
    /// Median cost of reading `Instant`, in ns.
    pub clock_read_ns: Option<f64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub thp_enabled: Option<String>,
    /// How hard the kernel works to find a huge page at a fault.
    pub thp_defrag: Option<String>,
    /// Whether each session is scheduled as one group (`sched_autogroup_enabled`).
    pub sched_autogroup: Option<bool>,
    /// Timer slack of this process in ns, from `/proc/self/timerslack_ns`.
    pub timer_slack_ns: Option<u64>,
    /// Whether system calls pass through a seccomp filter, as they do in most containers; it
    /// makes each of them dearer.
    pub seccomp: Option<bool>,
    /// CPU time the cgroup may use, the tightest from its own cgroup up to the root in sight.
    pub cpu_quota: Option<CpuQuota>,
    /// Resource limits when the fingerprint was taken.
    pub rlimits: Rlimits,
    /// Usable memory in bytes (`MemTotal`).
    pub memory_total_bytes: Option<u64>,
    /// Swap space in bytes (`SwapTotal`); 0 is none.
    pub swap_total_bytes: Option<u64>,
    /// Load averages over 1, 5 and 15 minutes, from `/proc/loadavg`.
    pub load_average: Option<[f64; 3]>,
    /// Pressure on CPU, memory and I/O.
    pub pressure: StartPressure,
    /// Who may use perf events: `/proc/sys/kernel/perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// `/proc/sys/kernel/io_uring_disabled`: 0 anyone, 1 one group, 2 nobody.
    pub io_uring_disabled: Option<u32>,
}

impl Machine {
    /// Reads the facts of the running system, and measures its clock.
    pub fn read() -> Self {
        let mut machine = Self::read_under(Path::new("/"));
        machine
            .architecture
            .get_or_insert_with(|| std::env::consts::ARCH.to_owned());
        let clock = clock::measure();
        machine.clock_step_ns = clock.step_ns;
        machine.clock_read_ns = clock.read_ns;
        machine
    }

    /// Reads the facts found in `root/proc`, `root/sys` and `root/etc`, and nothing else.
    pub fn read_under(root: &Path) -> Self {
        let source = Source::new(root);
        let mut machine = Self::default();
        machine.read_kernel(&source);
        machine.read_cpu(&source);
        machine.read_memory(&source);
        machine.read_process(&source);
        machine
    }

    fn read_kernel(&mut self, source: &Source) {
        self.kernel_release = source.text("proc/sys/kernel/osrelease");
        self.kernel_version = source.text("proc/sys/kernel/version");
        self.preemption = self.kernel_version.as_deref().map(preemption_model);
        self.preemption_mode = source.chosen("sys/kernel/debug/sched/preempt", '(', ')');
        self.preemption_boot = source.text("proc/cmdline").map(|line| {
            let mut words = line.split_whitespace().rev();
            let mode = words.find_map(|word| word.strip_prefix("preempt="));
            mode.unwrap_or("default").to_owned()
        });
        self.architecture = source.text("proc/sys/kernel/arch");
        self.distribution = ["etc/os-release", "usr/lib/os-release"]
            .iter()
            .find_map(|path| pretty_name(&source.text(path)?));
        self.clock_source =
            source.text("sys/devices/system/clocksource/clocksource0/current_clocksource");
        self.sched_autogroup = source.flag("proc/sys/kernel/sched_autogroup_enabled");
        self.perf_event_paranoid = source.number("proc/sys/kernel/perf_event_paranoid");
        self.io_uring_disabled = source.number("proc/sys/kernel/io_uring_disabled");
        self.load_average = source.text("proc/loadavg").and_then(|text| load(&text));
        self.pressure = StartPressure {
            cpu: pressure(source, "proc/pressure/cpu"),
            memory: pressure(source, "proc/pressure/memory"),
            io: pressure(source, "proc/pressure/io"),
        };
    }

    fn read_cpu(&mut self, source: &Source) {
        let info = cpu::Info::read(source);
        self.cpu_model = info.model();
        self.cpus_online = source.text("sys/devices/system/cpu/online");
        self.topology = Topology::read(source, self.cpus_online.as_deref());
        self.smt_active = source.flag("sys/devices/system/cpu/smt/active");
        self.numa_nodes = source
            .text("sys/devices/system/node/online")
            .and_then(|list| cpu_list(&list))
            .and_then(|nodes| u32::try_from(nodes.len()).ok());
        self.caches = cpu::caches(source);
        self.base_frequency_khz =
            source.number("sys/devices/system/cpu/cpu0/cpufreq/base_frequency");
        self.max_frequency_khz =
            source.number("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
        self.frequency_driver = source.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver");
        self.governor = cpu::governor(source);
        self.boost = cpu::boost(source);
        self.idle_driver = source.text("sys/devices/system/cpu/cpuidle/current_driver");
        self.mitigations = cpu::mitigations(source);
        let dmi = virt::Dmi::read(source);
        self.virtualisation = virt::hypervisor(source, &info, &dmi);
        self.hardware = dmi.hardware();
    }

    fn read_memory(&mut self, source: &Source) {
        self.thp_enabled = source.chosen("sys/kernel/mm/transparent_hugepage/enabled", '[', ']');
        self.thp_defrag = source.chosen("sys/kernel/mm/transparent_hugepage/defrag", '[', ']');
        let Some(info) = source.text("proc/meminfo") else {
            return;
        };
        // The file says kB and means KiB.
        let bytes = |key| word_after::<u64>(&info, key)?.checked_mul(1024);
        self.memory_total_bytes = bytes("MemTotal:");
        self.swap_total_bytes = bytes("SwapTotal:");
    }

    fn read_process(&mut self, source: &Source) {
        self.timer_slack_ns = source.number("proc/self/timerslack_ns");
        if let Some(status) = source.text("proc/self/status") {
            self.affinity = word_after(&status, "Cpus_allowed_list:");
            self.seccomp = word_after(&status, "Seccomp:").map(|mode: u8| mode > 0);
        }
        self.cpu_quota = cgroup::cpu_quota(source);
        self.rlimits = Rlimits::read(source);
    }

    /// One line for people. What is not known is left out, except for the CPU's name.
    pub fn summary(&self) -> String {
        let mut parts = vec![
            self.cpu_model
                .clone()
                .unwrap_or_else(|| "unknown CPU".to_owned()),
        ];
        if let Some(online) = self.cpus_online.as_deref().and_then(cpu_list) {
            let threads = self.topology.threads_per_core.map(|count| {
                let plural = if count == 1 { "" } else { "s" };
                format!(" ({count} thread{plural} per core)")
            });
            let plural = if online.len() == 1 { "" } else { "s" };
            let threads = threads.unwrap_or_default();
            parts.push(format!("{} CPU{plural}{threads}", online.len()));
        }
        if let Some(cpus) = self.cpu_quota.and_then(CpuQuota::cpus) {
            parts.push(format!("cgroup limit {cpus:.2} CPUs"));
        }
        match self.virtualisation.as_deref() {
            None => {}
            Some("none") => parts.push("no hypervisor".to_owned()),
            Some("unnamed") => parts.push("virtual".to_owned()),
            Some(name) => parts.push(format!("virtual ({name})")),
        }
        if let Some(release) = &self.kernel_release {
            let words = [self.preemption.as_deref(), self.preemption_mode.as_deref()];
            let model = match words {
                [Some(model), Some(mode)] => format!(" {model} ({mode})"),
                [Some(model), None] if model.starts_with("PREEMPT") => format!(" {model}"),
                _ => String::new(),
            };
            parts.push(format!("Linux {release}{model}"));
        }
        if let Some(bytes) = self.memory_total_bytes {
            parts.push(format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)));
        }
        parts.join(", ")
    }

    /// Names the facts that differ in a way that voids a comparison; empty is comparable.
    ///
    /// A fact that either side does not know is not a difference. Load, pressure, limits and
    /// affinity are circumstances of a run, not of its machine, and are not compared.
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
            smt_active,
            virtualisation,
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
            seccomp,
            cpu_quota,
        ];
        // What was asked for at boot matters where what is in force cannot be seen.
        let preemption_boot = (self.preemption_mode.is_none() || other.preemption_mode.is_none())
            && differ(&self.preemption_boot, &other.preemption_boot);
        let mitigations = !self.mitigations.is_empty()
            && !other.mitigations.is_empty()
            && self.mitigations != other.mitigations;
        facts
            .into_iter()
            .chain([
                ("preemption_boot", preemption_boot),
                ("mitigations", mitigations),
            ])
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect()
    }
}

/// For how long CPU quotas have stopped this process so far, in ns.
pub(crate) fn throttled() -> Option<u64> {
    cgroup::throttled(&Source::new(Path::new("/")))
}

/// The file of this process's control group that leaves it no real-time bandwidth, if one does.
pub(crate) fn without_realtime() -> Option<String> {
    cgroup::without_realtime(&Source::new(Path::new("/")))
}

/// Whether both are known and unequal.
fn differ<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

fn preemption_model(version: &str) -> String {
    version
        .split_whitespace()
        .find(|word| word.starts_with("PREEMPT"))
        .unwrap_or("none or voluntary")
        .to_owned()
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map(finite);
    Some([words.next()??, words.next()??, words.next()??])
}

fn pressure(source: &Source, path: &str) -> Option<f64> {
    let text = source.text(path)?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_whitespace()
        .find_map(|word| word.strip_prefix("avg10="))
        .and_then(finite)
}

/// JSON has no infinity: a line with one could not be read back.
fn finite(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite())
}
