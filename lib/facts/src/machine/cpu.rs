//! CPUs: model, topology, caches, frequency, mitigations.

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::{Cache, Topology, cpu_list};

use crate::source::Source;

pub(super) const CPUS: &str = "/sys/devices/system/cpu";

/// No CPU describes more caches.
const MOST_CACHES: u32 = 16;

/// Arrangement of the CPUs online.
pub(super) fn topology(source: &Source, online: Option<&str>) -> Topology {
    let Some(online) = online.and_then(cpu_list) else {
        return Topology::default();
    };
    let cores = groups(source, &online, "thread_siblings_list");
    // Firmware that says nothing about packages leaves -1 here, and meaningless siblings.
    let package: Option<i64> = online.first().and_then(|cpu| {
        let file = format!("{CPUS}/cpu{cpu}/topology/physical_package_id");
        source.number(&file).ok()
    });
    let sockets =
        package.filter(|&id| id >= 0).and_then(|_| groups(source, &online, "core_siblings_list"));
    Topology {
        sockets: sockets.map(|(count, _)| count),
        cores: cores.map(|(count, _)| count),
        threads_per_core: cores.map(|(_, largest)| largest),
    }
}

/// Number of sets of siblings and size of the largest. Reads one file for each set, not each CPU.
fn groups(source: &Source, online: &[u32], list: &str) -> Option<(u32, u32)> {
    let mut seen = BTreeSet::new();
    let (mut count, mut largest) = (0, 0);
    for cpu in online {
        if seen.contains(cpu) {
            continue;
        }
        let siblings = cpu_list(&source.text(&format!("{CPUS}/cpu{cpu}/topology/{list}"))?)?;
        count += 1;
        largest = largest.max(u32::try_from(siblings.len()).ok()?);
        seen.extend(siblings);
    }
    (count > 0).then_some((count, largest))
}

/// Caches of a CPU.
pub(super) fn caches(source: &Source, cpu: u32) -> Vec<Cache> {
    (0..MOST_CACHES)
        .map(|index| format!("{CPUS}/cpu{cpu}/cache/index{index}"))
        .take_while(|folder| source.exists(folder))
        .map(|folder| Cache {
            level: source.number(&format!("{folder}/level")).ok(),
            kind: source.text(&format!("{folder}/type")),
            size_bytes: source
                .text(&format!("{folder}/size"))
                .and_then(|size| size_in_bytes(&size)),
            shared_cpu_list: source.text(&format!("{folder}/shared_cpu_list")),
        })
        .filter(|cache| *cache != Cache::default())
        .collect()
}

pub(super) fn governor(source: &Source) -> Option<String> {
    let governors: BTreeSet<String> = source
        .names(&format!("{CPUS}/cpufreq"))
        .iter()
        .filter(|name| name.starts_with("policy"))
        .filter_map(|policy| source.text(&format!("{CPUS}/cpufreq/{policy}/scaling_governor")))
        .collect();
    let all: Vec<String> = governors.into_iter().collect();
    (!all.is_empty()).then(|| all.join(","))
}

pub(super) fn boost(source: &Source) -> Option<bool> {
    source.flag(&format!("{CPUS}/cpufreq/boost")).or_else(|| {
        let forbidden = source.flag(&format!("{CPUS}/intel_pstate/no_turbo"))?;
        Some(!forbidden)
    })
}

pub(super) fn mitigations(source: &Source) -> BTreeMap<String, String> {
    let folder = format!("{CPUS}/vulnerabilities");
    source
        .names(&folder)
        .into_iter()
        .filter_map(|name| {
            let state = source.text(&format!("{folder}/{name}"))?;
            Some((name, state))
        })
        .collect()
}

/// Bytes of a size such as `48K` or `1M`.
fn size_in_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
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
        ["model name", "cpu model", "cpu", "uarch"]
            .into_iter()
            .find_map(|key| self.values(key).next())
            .map(str::to_owned)
            .or_else(|| self.arm_model())
    }

    /// Every kind of core: a chip may mix them.
    fn arm_model(&self) -> Option<String> {
        let parts = self.values("CPU part");
        let mut models: Vec<String> = self
            .values("CPU implementer")
            .zip(parts)
            .map(|(implementer, part)| match arm_core(implementer, part) {
                Some(name) => format!("{name} ({implementer}/{part})"),
                None => format!("implementer {implementer} part {part}"),
            })
            .collect();
        models.sort_unstable();
        models.dedup();
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
