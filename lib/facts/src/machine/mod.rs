//! The machine that a result was measured on: facts that the kernel tells, once at the start of a run.

mod bounds;
mod cpu;
pub mod cpu_map;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use contract::units::counted;
use serde::{Deserialize, Serialize};

use crate::cgroup::ControlGroups;
use crate::differing;
use crate::interference::pressure;
use crate::source::{Source, word_after};

pub use bounds::{Bound, Rlimit, Rlimits};
pub use cpu_map::{CpuCache, Topology, cpu_list, cpu_ranges};

use cpu_map::{CPUS, CpuMap};

/// Readings of the clock, from which its step is taken.
const READINGS: u32 = 2100;

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

/// Reads the facts of the running system, and the step of its clock.
pub fn read() -> Machine {
    Machine { clock_step_ns: clock_step(), ..read_under(Path::new("/")) }
}

/// Smallest step of the clock in ns; `None` if it never moved. The readings take 50 µs with a clock in user space,
/// 2 ms if each is a system call.
fn clock_step() -> Option<u64> {
    let mut last = Instant::now();
    let steps = (0..READINGS).map(|_| {
        let now = Instant::now();
        let step = now.duration_since(last).as_nanos() as u64;
        last = now;
        step
    });
    steps.filter(|step| *step > 0).min()
}

/// Reads the facts found in `/proc`, `/sys` and `/etc` below a root folder.
pub fn read_under(root: &Path) -> Machine {
    let source = &Source::new(root);
    let info = source.text("/proc/cpuinfo").unwrap_or_default();
    let [vendor, product] = ["sys_vendor", "product_name"]
        .map(|name| source.text(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default());
    let hardware = format!("{vendor} {product}").trim().to_owned();
    let kernel_version = source.text("/proc/sys/kernel/version");
    let status = source.text("/proc/self/status").unwrap_or_default();
    let memory = source.text("/proc/meminfo").unwrap_or_default();
    let huge_pages = |file: &str| {
        source.chosen(&format!("/sys/kernel/mm/transparent_hugepage/{file}"), '[', ']')
    };
    let waiting = |resource| pressure(source, resource, "avg10=").and_then(finite);
    let map = CpuMap::read_under(root);
    let groups = ControlGroups::read(source);
    let idle_driver = source.text(&format!("{CPUS}/cpuidle/current_driver"));
    let halt_poll = source.number("/sys/module/haltpoll/parameters/guest_halt_poll_ns").ok();
    Machine {
        kernel_release: source.text("/proc/sys/kernel/osrelease"),
        preemption: kernel_version.as_deref().map(preemption_model),
        kernel_version,
        preemption_mode: source.chosen("/sys/kernel/debug/sched/preempt", '(', ')'),
        preemption_boot: source.text("/proc/cmdline").map(|line| preemption_boot(&line)),
        distribution: distribution(source),
        cpu_model: cpu::model(&info),
        cpus_online: source.text(&format!("{CPUS}/online")),
        affinity: word_after(&status, "Cpus_allowed_list:"),
        topology: map.topology(),
        caches: map.caches_of(0),
        frequency_driver: source.text(&format!("{CPUS}/cpu0/cpufreq/scaling_driver")),
        governor: governor(source),
        boost: boost(source),
        halt_poll_ns: halt_poll.filter(|_| idle_driver.as_deref() == Some("haltpoll")),
        idle_driver,
        virtualisation: cpu::hypervisor(source, &info, &vendor, &product).map(str::to_owned),
        hardware: (!hardware.is_empty()).then_some(hardware),
        mitigations: mitigations(source),
        clock_source: source.text(&format!("{}/current_clocksource", cpu::CLOCKS)),
        clock_step_ns: None,
        thp_enabled: huge_pages("enabled"),
        thp_defrag: huge_pages("defrag"),
        sched_autogroup: source.flag("/proc/sys/kernel/sched_autogroup_enabled"),
        timer_slack_ns: source.number("/proc/self/timerslack_ns").ok(),
        seccomp: word_after(&status, "Seccomp:").map(|mode: u8| mode > 0),
        cpu_quota: cpu_quota(source, &groups),
        memory_limit: bounds::memory_limit(source, &groups),
        rlimits: bounds::rlimits(source),
        memory_total_bytes: word_after::<u64>(&memory, "MemTotal:")
            .and_then(|kib| kib.checked_mul(1024)),
        load_average: source.text("/proc/loadavg").and_then(|text| load(&text)),
        pressure: StartPressure {
            cpu: waiting("cpu"),
            memory: waiting("memory"),
            io: waiting("io"),
        },
    }
}

/// Tightest quota of the process's group and its ancestors. A group without the file has no limit.
fn cpu_quota(source: &Source, groups: &ControlGroups) -> Option<CpuQuota> {
    let groups = groups.own(source, "cpu")?;
    let text = |folder: &String| {
        let text = |file: &str| source.text(&format!("{folder}/{file}"));
        if groups.version == 2 {
            return text("cpu.max");
        }
        let quota = text("cpu.cfs_quota_us")?;
        Some(format!("{quota} {}", text("cpu.cfs_period_us")?))
    };
    let quotas = groups.folders.iter().filter_map(text).map(|text| limited(&text));
    let quotas: Vec<CpuQuota> = quotas.collect::<Option<_>>()?;
    let cpus = |quota: &CpuQuota| quota.cpus().unwrap_or(f64::INFINITY);
    let all = quotas.into_iter().chain([CpuQuota::Unlimited]);
    all.min_by(|one, other| cpus(one).total_cmp(&cpus(other)))
}

/// A text such as `50000 100000`; `max` and -1 are no limit.
fn limited(text: &str) -> Option<CpuQuota> {
    let (quota, period) = text.split_once(' ')?;
    if ["max", "-1"].contains(&quota) {
        return Some(CpuQuota::Unlimited);
    }
    Some(CpuQuota::Limited {
        quota_us: quota.parse().ok()?,
        period_us: period.parse().ok().filter(|&period| period > 0)?,
    })
}

/// CPUs that the control groups of a process grant it; `None` without a limit.
pub(crate) fn cpu_quota_of(pid: i32) -> Option<f64> {
    let source = Source::system();
    let groups = ControlGroups::of_process(&source, &pid.to_string());
    cpu_quota(&source, &groups)?.cpus()
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

/// Mode of the kernel's command line: the last one counts.
fn preemption_boot(line: &str) -> String {
    let mode = line.split_whitespace().rev().find_map(|word| word.strip_prefix("preempt="));
    mode.unwrap_or("default").to_owned()
}

fn governor(source: &Source) -> Option<String> {
    let policies = source.names(&format!("{CPUS}/cpufreq")).into_iter();
    let governors: BTreeSet<String> = policies
        .filter_map(|name| source.text(&format!("{CPUS}/cpufreq/{name}/scaling_governor")))
        .collect();
    cpu::joined(governors, ",")
}

fn boost(source: &Source) -> Option<bool> {
    let no_turbo = || source.flag(&format!("{CPUS}/intel_pstate/no_turbo"));
    source.flag(&format!("{CPUS}/cpufreq/boost")).or_else(|| no_turbo().map(|forbidden| !forbidden))
}

fn mitigations(source: &Source) -> BTreeMap<String, String> {
    let folder = format!("{CPUS}/vulnerabilities");
    let names = source.names(&folder).into_iter();
    names
        .filter_map(|name| Some((name.clone(), source.text(&format!("{folder}/{name}"))?)))
        .collect()
}

fn load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map(|word| finite(word.parse().ok()?));
    Some([words.next()??, words.next()??, words.next()??])
}

/// JSON has no infinity: a line with one could not be read back.
fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
