//! A CPU's model, frequency and mitigations.

use std::collections::{BTreeMap, BTreeSet};

use super::cpu_map::CPUS;
use crate::source::Source;

pub(super) fn governor(source: &Source) -> Option<String> {
    let mut policies = source.names(&format!("{CPUS}/cpufreq"));
    policies.retain(|name| name.starts_with("policy"));
    let files = policies.iter().map(|name| format!("{CPUS}/cpufreq/{name}/scaling_governor"));
    let governors: BTreeSet<String> = files.filter_map(|file| source.text(&file)).collect();
    let all: Vec<String> = governors.into_iter().collect();
    (!all.is_empty()).then(|| all.join(","))
}

pub(super) fn boost(source: &Source) -> Option<bool> {
    let no_turbo = || source.flag(&format!("{CPUS}/intel_pstate/no_turbo"));
    source.flag(&format!("{CPUS}/cpufreq/boost")).or_else(|| no_turbo().map(|forbidden| !forbidden))
}

pub(super) fn mitigations(source: &Source) -> BTreeMap<String, String> {
    let folder = format!("{CPUS}/vulnerabilities");
    let names = source.names(&folder).into_iter();
    names
        .filter_map(|name| Some((name.clone(), source.text(&format!("{folder}/{name}"))?)))
        .collect()
}

/// Text of `/proc/cpuinfo`.
pub(super) struct Info(String);

impl Info {
    pub(super) fn read(source: &Source) -> Self {
        Self(source.text("/proc/cpuinfo").unwrap_or_default())
    }

    fn values(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            (name.trim().eq_ignore_ascii_case(key) && !value.is_empty()).then_some(value)
        })
    }

    /// The CPU is virtual. Only x86 has flags that show it.
    pub(super) fn hypervisor_flag(&self) -> Option<bool> {
        let mut flags = self.values("flags").next()?.split_whitespace();
        Some(flags.any(|flag| flag == "hypervisor"))
    }

    pub(super) fn model(&self) -> Option<String> {
        // x86, s390 and LoongArch; MIPS; POWER; RISC-V.
        let mut keys = ["model name", "cpu model", "cpu", "uarch"].into_iter();
        let model = keys.find_map(|key| self.values(key).next());
        model.map(str::to_owned).or_else(|| self.arm_model())
    }

    /// Every kind of core: a chip may mix them.
    fn arm_model(&self) -> Option<String> {
        let cores = self.values("CPU implementer").zip(self.values("CPU part"));
        let models: BTreeSet<String> = cores
            .map(|(implementer, part)| match arm_core(implementer, part) {
                Some(name) => format!("{name} ({implementer}/{part})"),
                None => format!("implementer {implementer} part {part}"),
            })
            .collect();
        let models: Vec<String> = models.into_iter().collect();
        (!models.is_empty()).then(|| models.join(" + "))
    }
}

/// Name of a core, from its main ID register.
fn arm_core(implementer: &str, part: &str) -> Option<&'static str> {
    Some(match (implementer, part) {
        ("0x41", "0xd03") => "Arm Cortex-A53",
        ("0x41", "0xd08") => "Arm Cortex-A72",
        ("0x41", "0xd0b") => "Arm Cortex-A76",
        ("0x41", "0xd0c") => "Arm Neoverse-N1",
        ("0x41", "0xd40") => "Arm Neoverse-V1",
        ("0x41", "0xd49") => "Arm Neoverse-N2",
        ("0x41", "0xd4f") => "Arm Neoverse-V2",
        ("0x41", "0xd84") => "Arm Neoverse-V3",
        ("0x41", "0xd8e") => "Arm Neoverse-N3",
        ("0xc0", "0xac3") => "Ampere-1",
        ("0xc0", "0xac4") => "Ampere-1A",
        _ => return None,
    })
}
