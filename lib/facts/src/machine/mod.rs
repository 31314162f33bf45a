//! The machine that a result was measured on: facts that the kernel tells, once at the start of a run.

mod bounds;
mod clock;
mod cpu;
pub mod cpu_map;
#[cfg(test)]
mod tests;
mod virt;

use std::collections::BTreeMap;
use std::path::Path;

use contract::units::counted;
use serde::{Deserialize, Serialize};

use crate::cgroup::ControlGroups;
use crate::differ;
use crate::interference::pressure;
use crate::source::{Source, word_after};

pub use bounds::{Bound, CpuQuota, Rlimit, Rlimits};
pub use cpu_map::{Cache, Topology, cpu_list};

use cpu_map::CpuMap;

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
    /// `PREEMPT...` word of the version string, or `none or voluntary` if it has none: the kernel
    /// names neither of those.
    pub preemption: Option<String>,
    /// Mode in force under `PREEMPT_DYNAMIC` (`none`, `voluntary`, `full`, `lazy`), from debugfs,
    /// which usually only root can read.
    pub preemption_mode: Option<String>,
    /// `preempt=` of the kernel's command line, or `default` if it has none.
    pub preemption_boot: Option<String>,
    /// `uname -m`.
    pub architecture: Option<String>,
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
    /// Hypervisor (`KVM`, `Xen`, ...), `unnamed` if there is one that nothing names, `none` if
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
        if let Some(bytes) = self.memory_total_bytes {
            parts.push(format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)));
        }
        parts.join(", ")
    }

    /// Names of the facts that differ in a way that voids a comparison, if both sides know them.
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
        // The mode asked for at boot matters if the one in force is unknown.
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
    machine.distribution = distribution(source);
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
    machine.topology = CpuMap::read_from(source).topology();
    machine.smt_active = source.flag("/sys/devices/system/cpu/smt/active");
    machine.numa_nodes = source
        .text("/sys/devices/system/node/online")
        .and_then(|list| cpu_list(&list))
        .and_then(|nodes| u32::try_from(nodes.len()).ok());
    machine.caches = cpu_map::read_caches(source, 0);
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
    let groups = ControlGroups::read(source);
    machine.cpu_quota = bounds::cpu_quota(source, &groups);
    machine.memory_limit = bounds::memory_limit(source, &groups);
    machine.rlimits = bounds::rlimits(source);
}

/// CPUs that the control groups of a process grant it; `None` without a limit.
pub(crate) fn cpu_quota_of(pid: i32) -> Option<f64> {
    let source = Source::system();
    let groups = ControlGroups::of_process(&source, &pid.to_string());
    bounds::cpu_quota(&source, &groups)?.cpus()
}

/// Folder of a process's control group, unless it is the topmost in sight, which has far more than that.
pub(crate) fn group(pid: i32) -> Option<String> {
    let source = Source::system();
    let groups = ControlGroups::of_process(&source, &pid.to_string()).own(&source, "cpu")?;
    groups.folders.first().filter(|_| groups.folders.len() > 1).cloned()
}

/// `PRETTY_NAME` of os-release(5), without its quotes.
fn distribution(source: &Source) -> Option<String> {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    let text = files.iter().find_map(|path| source.text(path))?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn preemption_model(version: &str) -> String {
    let model = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    model.unwrap_or("none or voluntary").to_owned()
}

fn load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map(|word| finite(word.parse().ok()?));
    Some([words.next()??, words.next()??, words.next()??])
}

/// JSON has no infinity: a line with one could not be read back.
fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
