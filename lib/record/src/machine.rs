//! Facts of the machine that a result was measured on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Facts that no comparison mentions: they belong to a run, follow from others, or are of earlier editions.
const NOT_COMPARED: [&str; 11] = [
    "caches",
    "clock_read_ns",
    "clock_step_ns",
    "load_average",
    "memory_limit",
    "memory_total_bytes",
    "perf_event_paranoid",
    "pressure",
    "rlimits",
    "swap_total_bytes",
    "topology",
];

/// What is known of a machine: the facts that `observe::machine` lists. A fact that is not known is absent.
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

    /// CPUs that programs may use: those online, within the affinity of the runner. The kernel's mask of a process, which
    /// older records have, also holds CPUs that are possible and not there.
    pub fn usable(&self) -> Option<Vec<u32>> {
        let (online, allowed) = (self.cpus("cpus_online"), self.cpus("affinity"));
        let Some((online, allowed)) = online.as_ref().zip(allowed.as_ref()) else {
            return allowed.or(online);
        };
        Some(allowed.iter().filter(|cpu| online.contains(cpu)).copied().collect())
    }

    /// Number of CPUs that the control group may keep busy; `None` if unlimited or unknown.
    pub fn quota(&self) -> Option<f64> {
        let [quota, period] =
            ["cpu_quota/quota_us", "cpu_quota/period_us"].map(|name| self.number(name));
        Some(quota? as f64 / period.filter(|&period| period > 0)? as f64)
    }

    /// Memory that programs could have, in bytes: the machine's, within the limit of the control group.
    pub fn memory(&self) -> Option<u64> {
        let limit = self.number("memory_limit").unwrap_or(u64::MAX);
        Some(self.number("memory_total_bytes")?.min(limit))
    }

    /// Gives a fact a value; `name` is the whole fact's.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The CPU's model without the words that all models have.
    pub fn model(&self) -> Option<String> {
        let words = ["(R)", "(TM)", " Processor", " CPU"];
        let model = self.text("cpu_model")?.to_owned();
        Some(words.iter().fold(model, |model, word| model.replace(word, "")))
    }

    /// The number of CPUs, such as `8`; if the programs may not use all of them, such as `2 of 8`.
    pub fn usable_cpus(&self) -> Option<String> {
        let online = self.cpus("cpus_online")?.len();
        let allowed = self.usable().map(|cpus| cpus.len()).filter(|&allowed| allowed < online);
        Some(allowed.map_or(online.to_string(), |allowed| format!("{allowed} of {online}")))
    }

    /// The kernel's release without the distributor's suffix, such as `6.18.44`.
    pub fn kernel(&self) -> Option<&str> {
        self.text("kernel_release")?.split('-').next()
    }

    /// The machine, and what of it the programs may use, in a short line.
    pub fn summary(&self) -> String {
        let mut line = self.model().unwrap_or("unknown CPU".to_owned());
        if let Some(cpus) = self.usable_cpus() {
            line += &format!(", {cpus} {}", if cpus == "1" { "CPU" } else { "CPUs" });
            if cpus.starts_with("1 of ") {
                let cpu = cpu_ranges(&self.usable().unwrap_or_default());
                line += &format!(" (all on CPU {cpu}, unpinned or not)");
            }
        }
        line += &match self.text("virtualisation") {
            None | Some("none") => String::new(),
            Some("unnamed") => " under a hypervisor".to_owned(),
            Some(host) => format!(" under {host}"),
        };
        if let Some(cpus) = self.quota() {
            line += &format!(", quota {} CPUs", (cpus * 100.0).round() / 100.0);
        }
        line += &self.idling().map_or(String::new(), |words| format!(", {words}"));
        line + ", Linux " + self.kernel().unwrap_or("of unknown release")
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
        let compared = self.0.iter().filter(|(name, _)| !NOT_COMPARED.contains(&name.as_str()));
        let different =
            compared.filter(|(name, fact)| other.0.get(*name).is_some_and(|other| other != *fact));
        different.map(|(name, _)| name.clone()).collect()
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

    /// A mask may hold CPUs that are possible and not there.
    #[test]
    fn cpus_that_are_not_there_are_not_counted() {
        for (online, affinity, usable, words) in [
            (Some("0-3"), Some("0-127"), Some(vec![0, 1, 2, 3]), Some("4")),
            (Some("0-3"), Some("1,3,9"), Some(vec![1, 3]), Some("2 of 4")),
            (Some("0-3"), None, Some(vec![0, 1, 2, 3]), Some("4")),
            (None, Some("0-1"), Some(vec![0, 1]), None),
            (None, None, None, None),
        ] {
            let facts = [("cpus_online", online), ("affinity", affinity)];
            let known = facts.into_iter().filter_map(|(name, text)| Some((name, text?.into())));
            let machine: Machine = known.collect();
            assert_eq!((machine.usable(), machine.usable_cpus().as_deref()), (usable, words));
        }
    }

    #[test]
    fn lists_of_cpus_are_bounded() {
        assert_eq!(cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        for list in ["", "a", "3-1", "0-", "0-4294967295", "0,,1"] {
            assert_eq!(cpu_list(list), None, "{list}");
        }
    }
}
