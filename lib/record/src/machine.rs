//! Facts of the machine that a result was measured on.

use std::collections::BTreeMap;

use contract::units::counted;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A fact of a machine, or of the circumstances when a run started.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Name in a record.
    pub name: &'static str,
    /// Where it is read.
    pub from: Origin,
    /// True if a comparison says when it differs; others belong to a run, or follow from the rest.
    pub is_compared: bool,
}

/// Where a fact is read.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// Text of a file.
    Text(&'static str),
    /// Number in a file.
    Number(&'static str),
    /// 0 or 1 in a file.
    Flag(&'static str),
    /// The word of a file that stands between these two characters.
    Chosen(&'static str, char, char),
    /// Several files, or a part of one: `observe::machine` says how it is made.
    Made,
}

use Origin::{Chosen, Flag, Made, Number, Text};

/// Facts that are recorded. Host name, user, serial numbers and names of control groups are not among them: results are
/// published.
pub const FACTS: [Fact; 32] = [
    compared("kernel_release", Text("/proc/sys/kernel/osrelease")),
    compared("kernel_version", Text("/proc/sys/kernel/version")),
    // The word PREEMPT of the version, or `none or voluntary`.
    compared("preemption", Made),
    // Usually only root can read it.
    compared("preemption_mode", Chosen("/sys/kernel/debug/sched/preempt", '(', ')')),
    // The word preempt= of /proc/cmdline, or `default`.
    compared("preemption_boot", Made),
    // PRETTY_NAME of os-release; in a container, the image's.
    compared("distribution", Made),
    // /proc/cpuinfo; on AArch64 implementer and part.
    compared("cpu_model", Made),
    compared("cpus_online", Text("/sys/devices/system/cpu/online")),
    // CPUs that the runner may use, by /proc/self/status.
    compared("affinity", Made),
    // Sockets, cores, and hardware threads of a core, of the CPUs online.
    noted("topology", Made),
    // Caches of CPU 0.
    noted("caches", Made),
    // The same governor means different things under different drivers.
    compared("frequency_driver", Text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver")),
    // The scaling_governor of each cpufreq policy.
    compared("governor", Made),
    // The file cpufreq/boost or intel_pstate/no_turbo: the CPU may exceed its base frequency.
    compared("boost", Made),
    // How deeply an idle CPU sleeps is part of what a wake-up costs.
    compared("idle_driver", Text("/sys/devices/system/cpu/cpuidle/current_driver")),
    // The guest_halt_poll_ns of the haltpoll driver: how long an idle CPU of a guest looks for work before it halts
    // (Documentation/virt/guest-halt-polling.rst of Linux).
    compared("halt_poll_ns", Made),
    // Hypervisor, `unnamed` or `none`.
    compared("virtualisation", Made),
    // Maker and product by the firmware (DMI).
    compared("hardware", Made),
    // /sys/devices/system/cpu/vulnerabilities.
    compared("mitigations", Made),
    compared(
        "clock_source",
        Text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ),
    // Smallest positive difference of two successive readings of `Instant`.
    noted("clock_step_ns", Made),
    compared("thp_enabled", Chosen("/sys/kernel/mm/transparent_hugepage/enabled", '[', ']')),
    compared("thp_defrag", Chosen("/sys/kernel/mm/transparent_hugepage/defrag", '[', ']')),
    compared("sched_autogroup", Flag("/proc/sys/kernel/sched_autogroup_enabled")),
    compared("timer_slack_ns", Number("/proc/self/timerslack_ns")),
    // A filter makes each system call slower.
    // Seccomp: of /proc/self/status is not 0.
    compared("seccomp", Made),
    // Quota and period in µs: the tightest of the control group and its ancestors.
    compared("cpu_quota", Made),
    // Bytes: the tightest of the control group and its ancestors.
    noted("memory_limit", Made),
    // /proc/self/limits: soft and hard limits on the number of tasks.
    noted("rlimits", Made),
    // MemTotal of /proc/meminfo.
    noted("memory_total_bytes", Made),
    // /proc/loadavg: over 1, 5 and 15 minutes.
    noted("load_average", Made),
    // /proc/pressure: per cent of the last 10 s in which some task waited.
    noted("pressure", Made),
];

const fn compared(name: &'static str, from: Origin) -> Fact {
    Fact { name, from, is_compared: true }
}

const fn noted(name: &'static str, from: Origin) -> Fact {
    Fact { name, from, is_compared: false }
}

/// What is known of a machine: the value of each of the [`FACTS`]. A fact that is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Machine(BTreeMap<String, Value>);

impl FromIterator<(&'static str, Value)> for Machine {
    fn from_iter<T: IntoIterator<Item = (&'static str, Value)>>(facts: T) -> Self {
        Machine(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl Machine {
    /// A fact; a part of one by a path such as `pressure/cpu`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let (name, part) =
            name.split_once('/').map_or((name, None), |(name, part)| (name, Some(part)));
        let fact = self.0.get(name)?;
        part.map_or(Some(fact), |part| fact.get(part))
    }

    /// A fact that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// A fact that is a whole number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
    }

    /// CPUs of a fact that is a list of them.
    pub fn cpus(&self, name: &str) -> Option<Vec<u32>> {
        cpu_list(self.text(name)?)
    }

    /// Number of CPUs whose time the control group may use; `None` if that is unlimited or unknown.
    pub fn quota(&self) -> Option<f64> {
        let [quota, period] =
            ["cpu_quota/quota_us", "cpu_quota/period_us"].map(|name| self.number(name));
        Some(quota? as f64 / period.filter(|&period| period > 0)? as f64)
    }

    /// Gives a fact a value; `name` is the whole fact's.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Summary in one line. Unknown facts are left out, except for the CPU's model.
    pub fn summary(&self) -> String {
        let model = self.text("cpu_model").unwrap_or("unknown CPU");
        let mut parts = vec![model.to_owned()];
        if let Some(cpus) = self.cpus("cpus_online") {
            let threads = self.number("topology/threads_per_core");
            let threads = threads.map(|count| format!(" ({} per core)", counted(count, "thread")));
            parts.push(counted(cpus.len(), "CPU") + &threads.unwrap_or_default());
        }
        if let Some(cpus) = self.quota() {
            parts.push(format!("cgroup limit {cpus:.2} CPUs"));
        }
        parts.extend(self.text("virtualisation").map(|name| match name {
            "none" => "no hypervisor".to_owned(),
            "unnamed" => "virtual".to_owned(),
            name => format!("virtual ({name})"),
        }));
        if let Some(release) = self.text("kernel_release") {
            let model = match (self.text("preemption"), self.text("preemption_mode")) {
                (Some(model), Some(mode)) => format!(" {model} ({mode})"),
                (Some(model), None) if model.starts_with("PREEMPT") => format!(" {model}"),
                _ => String::new(),
            };
            parts.push(format!("Linux {release}{model}"));
        }
        parts.extend(self.idling());
        if let Some(bytes) = self.number("memory_total_bytes") {
            parts.push(format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)));
        }
        parts.join(", ")
    }

    /// What an idle CPU does, in a few words.
    pub fn idling(&self) -> Option<String> {
        let polls =
            self.number("halt_poll_ns").map(|ns| format!(" (polls up to {} µs)", ns / 1000));
        Some(match self.text("idle_driver")? {
            "none" => "no idle driver".to_owned(),
            driver => format!("idle driver {driver}{}", polls.unwrap_or_default()),
        })
    }

    /// Names of the facts that differ in a way that voids a comparison, if both sides know them, in alphabetical order.
    pub fn same_machine(&self, other: &Self) -> Vec<String> {
        let differs = |fact: &&Fact| {
            let both = self.get(fact.name).zip(other.get(fact.name));
            fact.is_compared && both.is_some_and(|(one, other)| one != other)
        };
        let mut names: Vec<String> =
            FACTS.iter().filter(differs).map(|fact| fact.name.to_owned()).collect();
        names.sort_unstable();
        names
    }
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
