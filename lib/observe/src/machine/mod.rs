//! The machine that a result was measured on: facts that the kernel tells, once at the start of a run.

mod bounds;
mod cpu;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use record::machine::{CpuQuota, Machine, StartPressure};

use crate::cgroup::ControlGroups;
use crate::cpu_map::{CPUS, CpuMap};
use crate::interference::pressure;
use crate::source::{Source, word_after};

/// Readings of the clock, from which its step is taken.
const READINGS: u32 = 2100;

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
