//! The machine that a result was measured on: facts that the kernel tells, once at the start of a run.

mod cpu;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use record::{Cpus, Machine};
use serde_json::{Map, Number, Value, json};

use crate::affinity;
use crate::cpu_map::{CPUS, CpuMap};
use crate::interference::pressure;
use host::cgroup::ControlGroups;
use host::source::{Source, word_after};

/// Readings of the clock, from which its step is taken.
const READINGS: u32 = 2100;

/// Reads the facts of the running system, the CPUs of it that can be used, and the step of its clock.
pub fn read() -> Machine {
    let mut machine = read_under(Path::new("/"));
    if let Ok(cpus) = affinity::allowed() {
        machine.set("affinity", Cpus::List(cpus).to_string());
    }
    if let Some(step) = clock_step() {
        machine.set("clock_step_ns", step);
    }
    machine
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

/// A fact by its name, if it is known.
type Fact = (&'static str, Option<Value>);

/// Reads the facts found in `/proc`, `/sys` and `/etc` below a root folder. Host name, user, serial numbers and names
/// of control groups are not among them: results are published.
pub fn read_under(root: &Path) -> Machine {
    let source = &Source::new(root);
    let facts = software(source).into_iter().chain(hardware(source)).chain(grants(source));
    let known = facts.filter_map(|(name, value)| Some((name, value?)));
    known.filter(|(_, value)| !is_empty(value)).collect()
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty)
        || value == ""
}

/// A fact that is the text of a file.
fn text(source: &Source, file: &str) -> Option<Value> {
    source.text(file).map(Value::from)
}

/// A fact that is the chosen one of the words in a file.
fn chosen(source: &Source, file: &str, open: char, close: char) -> Option<Value> {
    source.chosen(file, open, close).map(Value::from)
}

/// The kernel, its settings, and the distribution around it.
fn software(source: &Source) -> [Fact; 11] {
    [
        ("kernel_release", text(source, "/proc/sys/kernel/osrelease")),
        ("kernel_version", text(source, "/proc/sys/kernel/version")),
        ("preemption", preemption_model(source).map(Value::from)),
        // Usually only root can read it.
        ("preemption_mode", chosen(source, "/sys/kernel/debug/sched/preempt", '(', ')')),
        ("preemption_boot", preemption_boot(source).map(Value::from)),
        ("distribution", distribution(source).map(Value::from)),
        (
            "clock_source",
            text(source, "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        ("thp_enabled", chosen(source, "/sys/kernel/mm/transparent_hugepage/enabled", '[', ']')),
        ("thp_defrag", chosen(source, "/sys/kernel/mm/transparent_hugepage/defrag", '[', ']')),
        (
            "sched_autogroup",
            source.flag("/proc/sys/kernel/sched_autogroup_enabled").map(Value::from),
        ),
        ("timer_slack_ns", source.number::<u64>("/proc/self/timerslack_ns").ok().map(Value::from)),
    ]
}

/// The CPUs, how they idle and how quick they are, and the memory.
fn hardware(source: &Source) -> [Fact; 12] {
    let info = source.text("/proc/cpuinfo").unwrap_or_default();
    // By the firmware (DMI).
    let [vendor, product] = ["sys_vendor", "product_name"]
        .map(|name| source.text(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default());
    [
        // On AArch64 implementer and part.
        ("cpu_model", cpu::model(&info).map(Value::from)),
        ("cpus_online", text(source, "/sys/devices/system/cpu/online")),
        // Sockets, cores, and hardware threads of a core, of the CPUs online.
        ("topology", Some(CpuMap::of(source).topology())),
        // The same governor means different things under different drivers.
        ("frequency_driver", text(source, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver")),
        ("governor", governor(source).map(Value::from)),
        // The CPU may exceed its base frequency.
        ("boost", boost(source).map(Value::from)),
        // How deeply an idle CPU sleeps is part of what a wake-up costs.
        ("idle_driver", text(source, "/sys/devices/system/cpu/cpuidle/current_driver")),
        ("halt_poll_ns", halt_poll(source).map(Value::from)),
        // Hypervisor, `unnamed` or `none`.
        ("virtualisation", cpu::hypervisor(source, &info, &vendor, &product).map(Value::from)),
        ("hardware", Some(format!("{vendor} {product}").trim().into())),
        ("mitigations", Some(mitigations(source))),
        ("memory_total_bytes", memory_total(source).map(Value::from)),
    ]
}

/// What the runner may use, and how busy the machine is when a run starts.
fn grants(source: &Source) -> [Fact; 6] {
    let status = source.text("/proc/self/status").unwrap_or_default();
    let groups = &ControlGroups::read(source);
    let quota = cpu_quota(source, groups).map(|quota| match quota {
        Some((quota, period)) => json!({"quota_us": quota, "period_us": period}),
        None => "unlimited".into(),
    });
    [
        // The kernel's mask, with CPUs that are possible and not there.
        ("affinity", word_after::<String>(&status, "Cpus_allowed_list:").map(Value::from)),
        // A filter makes each system call slower.
        ("seccomp", word_after::<u8>(&status, "Seccomp:").map(|mode| (mode > 0).into())),
        ("cpu_quota", quota),
        ("memory_limit", memory_limit(source, groups)),
        ("load_average", load(source)),
        ("pressure", Some(pressures(source))),
    ]
}

/// Quota and period of CPU time, in µs.
type Quota = (u64, u64);

/// Tightest quota of the process's group and its ancestors: `Some(None)` if there is no limit. A group without the file
/// has none.
fn cpu_quota(source: &Source, groups: &ControlGroups) -> Option<Option<Quota>> {
    let groups = groups.visible_groups(source, "cpu")?;
    let texts = groups.folders.iter().filter_map(|folder| {
        if groups.version == 2 {
            return source.text(&format!("{folder}/cpu.max"));
        }
        let quota = source.text(&format!("{folder}/cpu.cfs_quota_us"))?;
        Some(format!("{quota} {}", source.text(&format!("{folder}/cpu.cfs_period_us"))?))
    });
    let quotas = texts.map(|text| limited(&text));
    let quotas: Vec<Option<Quota>> = quotas.collect::<Option<_>>()?;
    Some(quotas.into_iter().flatten().min_by(|a, b| cpus(*a).total_cmp(&cpus(*b))))
}

/// Number of CPUs that a quota is.
fn cpus((quota, period): Quota) -> f64 {
    quota as f64 / period as f64
}

/// A text such as `50000 100000`; `max` and -1 are no limit, `Some(None)`.
fn limited(text: &str) -> Option<Option<Quota>> {
    let (quota, period) = text.split_once(' ')?;
    if ["max", "-1"].contains(&quota) {
        return Some(None);
    }
    Some(Some((quota.parse().ok()?, period.parse().ok().filter(|&period| period > 0)?)))
}

/// CPUs that the control groups of a process grant it; `None` without a limit.
pub(crate) fn cpu_quota_of(pid: i32) -> Option<f64> {
    let source = Source::system();
    let groups = ControlGroups::of_process(&source, &pid.to_string());
    cpu_quota(&source, &groups)?.map(cpus)
}

/// Lowest memory limit of the process's group and its ancestors, in bytes. A group without the file has no limit.
fn memory_limit(source: &Source, groups: &ControlGroups) -> Option<Value> {
    let groups = groups.visible_groups(source, "memory")?;
    let file = if groups.version == 2 { "memory.max" } else { "memory.limit_in_bytes" };
    let files = groups.folders.iter().map(|folder| format!("{folder}/{file}"));
    let limit = files.filter_map(|file| source.number::<u64>(&file).ok()).min();
    // For *no limit* version 1 writes `LONG_MAX` rounded down to a page.
    let limit = limit.filter(|limit| *limit < 1 << 62);
    Some(limit.map_or_else(|| "unlimited".into(), Value::from))
}

/// `PRETTY_NAME` of os-release(5), without its quotes; in a container, the image's.
fn distribution(source: &Source) -> Option<String> {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    let text = files.iter().find_map(|path| source.text(path))?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The word PREEMPT of the kernel's version.
fn preemption_model(source: &Source) -> Option<String> {
    let version = source.text("/proc/sys/kernel/version")?;
    let model = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    Some(model.unwrap_or("none or voluntary").to_owned())
}

/// Mode of the kernel's command line: the last one counts.
fn preemption_boot(source: &Source) -> Option<String> {
    let line = source.text("/proc/cmdline")?;
    let mode = line.split_whitespace().rev().find_map(|word| word.strip_prefix("preempt="));
    Some(mode.unwrap_or("default").to_owned())
}

/// Governors of all cpufreq policies.
fn governor(source: &Source) -> Option<String> {
    let policies = source.names(&format!("{CPUS}/cpufreq")).into_iter();
    let governors: BTreeSet<String> = policies
        .filter_map(|name| source.text(&format!("{CPUS}/cpufreq/{name}/scaling_governor")))
        .collect();
    cpu::joined(governors, ",")
}

fn boost(source: &Source) -> Option<bool> {
    if let Some(boost) = source.flag(&format!("{CPUS}/cpufreq/boost")) {
        return Some(boost);
    }
    source.flag(&format!("{CPUS}/intel_pstate/no_turbo")).map(|is_forbidden| !is_forbidden)
}

/// How long an idle CPU of a guest looks for work before it halts, under the haltpoll driver
/// (Documentation/virt/guest-halt-polling.rst of Linux).
fn halt_poll(source: &Source) -> Option<u64> {
    let driver = source.text(&format!("{CPUS}/cpuidle/current_driver"))?;
    let limit = source.number("/sys/module/haltpoll/parameters/guest_halt_poll_ns").ok();
    limit.filter(|_| driver == "haltpoll")
}

/// State of each known CPU weakness.
fn mitigations(source: &Source) -> Value {
    let folder = format!("{CPUS}/vulnerabilities");
    let names = source.names(&folder).into_iter();
    let states = names
        .filter_map(|name| Some((name.clone(), source.text(&format!("{folder}/{name}"))?.into())));
    Value::Object(states.collect())
}

/// Per cent of the last ten seconds during which some task waited, for each resource.
fn pressures(source: &Source) -> Value {
    let waiting = ["cpu", "memory", "io"].into_iter().filter_map(|resource| {
        let share: f64 = pressure(source, resource, "avg10=")?;
        Some((resource.to_owned(), Number::from_f64(share)?.into()))
    });
    Value::Object(waiting.collect())
}

/// Load averages over 1, 5 and 15 minutes. JSON has no infinity: a line with one could not be read back.
fn load(source: &Source) -> Option<Value> {
    let text = source.text("/proc/loadavg")?;
    let words: Option<Vec<Number>> =
        text.split_whitespace().take(3).map(|word| Number::from_f64(word.parse().ok()?)).collect();
    words.filter(|words| words.len() == 3).map(|words| json!(words))
}

/// Memory of the machine, in bytes.
fn memory_total(source: &Source) -> Option<u64> {
    word_after::<u64>(&source.text("/proc/meminfo")?, "MemTotal:")?.checked_mul(1024)
}
