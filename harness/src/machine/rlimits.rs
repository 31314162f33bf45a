//! The resource limits of this process.

use serde::{Deserialize, Serialize};

use super::source::Source;

/// One end of a resource limit. In JSON a number, or the word `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No limit of its own (`RLIM_INFINITY`).
    Unlimited,
    /// The limit, in the resource's own unit.
    #[serde(untagged)]
    At(u64),
}

/// A resource limit of this process, from `/proc/self/limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimit {
    /// What is enforced.
    pub soft: Bound,
    /// How far the process may raise the soft limit by itself.
    pub hard: Bound,
}

/// The resource limits that decide how many tasks fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rlimits {
    /// Open file descriptors (`RLIMIT_NOFILE`).
    pub nofile: Option<Rlimit>,
    /// Threads of this user (`RLIMIT_NPROC`).
    pub nproc: Option<Rlimit>,
    /// Bytes of the main thread's stack (`RLIMIT_STACK`).
    pub stack: Option<Rlimit>,
    /// Bytes of address space (`RLIMIT_AS`).
    pub address_space: Option<Rlimit>,
}

impl Rlimits {
    pub(super) fn read(source: &Source) -> Self {
        let limits = source.text("proc/self/limits").unwrap_or_default();
        Self {
            nofile: rlimit(&limits, "Max open files"),
            nproc: rlimit(&limits, "Max processes"),
            stack: rlimit(&limits, "Max stack size"),
            address_space: rlimit(&limits, "Max address space"),
        }
    }
}

fn rlimit(limits: &str, name: &str) -> Option<Rlimit> {
    let mut words = limits
        .lines()
        .find_map(|line| line.strip_prefix(name))?
        .split_whitespace()
        .map(|word| match word {
            "unlimited" => Some(Bound::Unlimited),
            number => number.parse().ok().map(Bound::At),
        });
    Some(Rlimit {
        soft: words.next()??,
        hard: words.next()??,
    })
}
