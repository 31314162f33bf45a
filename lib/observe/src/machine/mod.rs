//! The machine that a result was measured on: facts that the kernel tells, once at the start of a run.

mod bounds;
mod cpu;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use record::machine::{FACTS, Fact, Machine, Origin};
use serde_json::{Map, Value, json};

use crate::cgroup::ControlGroups;
use crate::cpu_map::{CPUS, CpuMap};
use crate::interference::pressure;
use crate::source::{Source, word_after};

/// Readings of the clock, from which its step is taken.
const READINGS: u32 = 2100;

/// Reads the facts of the running system, and the step of its clock.
pub fn read() -> Machine {
    let mut machine = read_under(Path::new("/"));
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

/// Reads the facts found in `/proc`, `/sys` and `/etc` below a root folder.
pub fn read_under(root: &Path) -> Machine {
    let source = Source::new(root);
    FACTS.iter().filter_map(|fact| Some((fact.name, known(fact, &source, root)?))).collect()
}

/// Value of a fact; `None` if it is not known.
fn known(fact: &Fact, source: &Source, root: &Path) -> Option<Value> {
    let value = match fact.from {
        Origin::Text(file) => source.text(file)?.into(),
        Origin::Number(file) => source.number::<u64>(file).ok()?.into(),
        Origin::Flag(file) => source.flag(file)?.into(),
        Origin::Chosen(file, open, close) => source.chosen(file, open, close)?.into(),
        Origin::Made => made(fact.name, source, root)?,
    };
    let is_empty = value.as_object().is_some_and(Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty)
        || value == "";
    (!is_empty).then_some(value)
}

/// Value of a fact that is made of several files, or of a part of one.
fn made(name: &str, source: &Source, root: &Path) -> Option<Value> {
    let status = || source.text("/proc/self/status").unwrap_or_default();
    let info = || source.text("/proc/cpuinfo").unwrap_or_default();
    let firmware = || {
        let file = |name| source.text(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
        (file("sys_vendor"), file("product_name"))
    };
    Some(match name {
        "preemption" => preemption_model(&source.text("/proc/sys/kernel/version")?).into(),
        "preemption_boot" => preemption_boot(&source.text("/proc/cmdline")?).into(),
        "distribution" => distribution(source)?.into(),
        "cpu_model" => cpu::model(&info())?.into(),
        "affinity" => word_after::<String>(&status(), "Cpus_allowed_list:")?.into(),
        "topology" => CpuMap::read_under(root).topology(),
        "caches" => CpuMap::read_under(root).caches_of(0),
        "governor" => governor(source)?.into(),
        "boost" => boost(source)?.into(),
        "halt_poll_ns" => halt_poll(source)?.into(),
        "virtualisation" => {
            let (vendor, product) = firmware();
            cpu::hypervisor(source, &info(), &vendor, &product)?.into()
        }
        "hardware" => {
            let (vendor, product) = firmware();
            format!("{vendor} {product}").trim().into()
        }
        "mitigations" => mitigations(source),
        "seccomp" => (word_after::<u8>(&status(), "Seccomp:")? > 0).into(),
        "cpu_quota" => match cpu_quota(source, &ControlGroups::read(source))? {
            Some((quota, period)) => json!({"quota_us": quota, "period_us": period}),
            None => "unlimited".into(),
        },
        "memory_limit" => bounds::memory_limit(source, &ControlGroups::read(source))?,
        "rlimits" => bounds::rlimits(source),
        "memory_total_bytes" => {
            let memory = source.text("/proc/meminfo")?;
            word_after::<u64>(&memory, "MemTotal:")?.checked_mul(1024)?.into()
        }
        "load_average" => load(&source.text("/proc/loadavg")?)?,
        "pressure" => pressures(source),
        // The step of the clock is in no file; there are no others.
        _ => return None,
    })
}

/// Quota and period of CPU time, in µs.
type Quota = (u64, u64);

/// Tightest quota of the process's group and its ancestors: `Some(None)` if there is no limit. A group without the file
/// has none.
fn cpu_quota(source: &Source, groups: &ControlGroups) -> Option<Option<Quota>> {
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
    let quotas: Vec<Option<Quota>> = quotas.collect::<Option<_>>()?;
    Some(quotas.into_iter().flatten().min_by(|one, other| cpus(*one).total_cmp(&cpus(*other))))
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

/// Share of the last ten seconds in which some task waited for each resource, in per cent.
fn pressures(source: &Source) -> Value {
    let waiting = ["cpu", "memory", "io"].into_iter().filter_map(|resource| {
        let share: f64 = pressure(source, resource, "avg10=")?;
        Some((resource.to_owned(), finite(share)?.into()))
    });
    Value::Object(waiting.collect())
}

fn load(text: &str) -> Option<Value> {
    let words: Option<Vec<f64>> =
        text.split_whitespace().take(3).map(|word| finite(word.parse().ok()?)).collect();
    words.filter(|words| words.len() == 3).map(|words| json!(words))
}

/// JSON has no infinity: a line with one could not be read back.
fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
