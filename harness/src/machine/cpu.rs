//! Processors: model, topology, caches, frequency, mitigations.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::source::{Source, cpu_list, size_in_bytes};

const CPUS: &str = "sys/devices/system/cpu";

/// Enough of `/proc/cpuinfo` for the first processor of any architecture. The kernel writes the
/// file as it is read, and hundreds of processors take it milliseconds.
const CPUINFO_HEAD: usize = 8 << 10;

/// No CPU describes more caches than this.
const MOST_CACHES: u32 = 16;

/// How the CPUs online are arranged, from `/sys/devices/system/cpu/cpu*/topology`.
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

impl Topology {
    pub(super) fn read(source: &Source, online: Option<&str>) -> Self {
        let Some(online) = online.and_then(cpu_list) else {
            return Self::default();
        };
        let cores = groups(source, &online, "thread_siblings_list");
        // Firmware that says nothing about packages leaves -1 here, and siblings that mean
        // nothing.
        let package: Option<i64> = online.first().and_then(|cpu| {
            source.number(&format!("{CPUS}/cpu{cpu}/topology/physical_package_id"))
        });
        let sockets = package
            .filter(|&id| id >= 0)
            .and_then(|_| groups(source, &online, "core_siblings_list"));
        Self {
            sockets: sockets.map(|(count, _)| count),
            cores: cores.map(|(count, _)| count),
            threads_per_core: cores.map(|(_, largest)| largest),
        }
    }
}

/// How many sets of siblings the CPUs fall into, and the size of the largest. Reads one file for
/// each set, not for each CPU.
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

/// One cache, from `/sys/devices/system/cpu/cpu0/cache/index*`.
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
    /// The CPUs that share it, as a list.
    pub shared_cpu_list: Option<String>,
}

pub(super) fn caches(source: &Source) -> Vec<Cache> {
    (0..MOST_CACHES)
        .map(|index| format!("{CPUS}/cpu0/cache/index{index}"))
        .take_while(|directory| source.exists(directory))
        .map(|directory| Cache {
            level: source.number(&format!("{directory}/level")),
            kind: source.text(&format!("{directory}/type")),
            size_bytes: source
                .text(&format!("{directory}/size"))
                .and_then(|size| size_in_bytes(&size)),
            shared_cpu_list: source.text(&format!("{directory}/shared_cpu_list")),
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
    let directory = format!("{CPUS}/vulnerabilities");
    source
        .names(&directory)
        .into_iter()
        .filter_map(|name| {
            let state = source.text(&format!("{directory}/{name}"))?;
            Some((name, state))
        })
        .collect()
}

/// The beginning of `/proc/cpuinfo`.
pub(super) struct Info(String);

impl Info {
    pub(super) fn read(source: &Source) -> Self {
        let text = source.head("proc/cpuinfo", CPUINFO_HEAD);
        Self(text.unwrap_or_default())
    }

    fn values(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            (name.trim().eq_ignore_ascii_case(key) && !value.is_empty()).then_some(value)
        })
    }

    /// Whether the CPU says that it is virtual; unknown where it has no such flag to show, which
    /// is everywhere but on x86.
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

    /// Every kind of core that the head of the file names: a chip may mix them.
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

/// Names of the cores found in servers and small boards, from their main ID register.
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
