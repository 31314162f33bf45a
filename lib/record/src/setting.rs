//! Where and how a program runs: its CPUs, its scheduling policy, its environment.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::value::{self, StrDeserializer};
use serde::de::{Error, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::machine::{cpu_list, cpu_ranges};

/// Setting of a program's process; what is `None` or empty is inherited from the runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setting {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Environment variables in addition to the runner's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Words of a command that executes the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrap: Vec<String>,
}

impl Setting {
    /// Takes over each part that another setting has. The words of its wrapper follow those that are there.
    pub fn put(&mut self, other: &Setting) {
        let Setting { cpus, policy, env, wrap } = other.clone();
        self.cpus = cpus.or(self.cpus.take());
        self.policy = policy.or(self.policy);
        self.env.extend(env);
        self.wrap.extend(wrap);
    }

    /// List of the CPUs, if they are restricted and known.
    pub fn cpu_list(&self) -> Option<&[u32]> {
        match &self.cpus {
            Some(Cpus::List(cpus)) => Some(cpus),
            _ => None,
        }
    }
}

/// CPUs that a program may use. A plan names them by their relation; when a run begins, a list takes the place of the name.
/// In JSON it is a text: `first`, a relation such as `smt-sibling`, or a list such as `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// The first CPU that the runner may use.
    First,
    Related(Relation),
    /// These CPUs, ascending.
    List(Vec<u32>),
}

/// Name of [`Cpus::First`].
const FIRST: &str = "first";

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cpus::First => f.write_str(FIRST),
            Cpus::Related(relation) => relation.serialize(f),
            Cpus::List(cpus) => f.write_str(&cpu_ranges(cpus)),
        }
    }
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == FIRST {
            return Ok(Cpus::First);
        }
        let word: StrDeserializer<'_, value::Error> = text.into_deserializer();
        if let Ok(relation) = Relation::deserialize(word) {
            return Ok(Cpus::Related(relation));
        }
        let mut cpus = cpu_list(text)
            .filter(|cpus| !cpus.is_empty())
            .ok_or_else(|| format!("'{text}' is not a list of CPUs: write one such as 0,2-3"))?;
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Cpus::List(cpus))
    }
}

impl Serialize for Cpus {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        String::deserialize(text)?.parse().map_err(D::Error::custom)
    }
}

/// Relation of two CPUs: the nearest thing that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// One core.
    SmtSibling,
    /// The last cache, of two cores.
    SameCache,
    /// The socket.
    OtherCache,
    /// Nothing but memory.
    OtherSocket,
}

impl Relation {
    /// Name of the second CPU, as seen from the first.
    pub fn name(self) -> &'static str {
        match self {
            Relation::SmtSibling => "SMT sibling",
            Relation::SameCache => "another core, same cache",
            Relation::OtherCache => "another cache, same socket",
            Relation::OtherSocket => "another socket",
        }
    }
}

/// Scheduling policy (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// SCHED_OTHER, the default of every program
    Other,
    /// SCHED_BATCH: a woken thread does not preempt others
    Batch,
    /// SCHED_FIFO with priority 1: real time; needs a privilege
    Fifo,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_read_as_they_print() {
        for (text, shown) in [
            ("0", "0"),
            ("3,0-1", "0-1,3"),
            ("1,1,2", "1-2"),
            ("first", "first"),
            ("same-cache", "same-cache"),
        ] {
            assert_eq!(text.parse::<Cpus>().unwrap().to_string(), shown);
        }
        for text in ["", "x", "1-", "2-1"] {
            assert!(text.parse::<Cpus>().is_err(), "{text}");
        }
    }
}
