//! CPU time, memory and resources that a control group or the kernel grants the runner.

use serde::{Deserialize, Serialize};

use crate::cgroup::ControlGroups;
use crate::source::{Source, rlimit};

/// CPU time that a control group may use. In JSON `"unlimited"` or an object with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuQuota {
    /// No control group in sight limits it.
    Unlimited,
    /// Tightest limit found.
    #[serde(untagged)]
    Limited {
        /// CPU time in each period, in µs.
        quota_us: u64,
        /// Period in µs.
        #[serde(deserialize_with = "contract::message::positive")]
        period_us: u64,
    },
}

impl CpuQuota {
    /// Number of CPUs; `None` if there is no limit.
    pub fn cpus(self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Limited { quota_us, period_us } => Some(quota_us as f64 / period_us as f64),
        }
    }
}

/// One limit. In JSON a number or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No limit.
    Unlimited,
    /// Limit in the resource's own unit.
    #[serde(untagged)]
    At(u64),
}

/// A resource limit of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimit {
    /// Limit in force.
    pub soft: Bound,
    /// Largest soft limit that the process may set by itself.
    pub hard: Bound,
}

/// Resource limits that bound the number of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rlimits {
    /// Open file descriptors (`RLIMIT_NOFILE`).
    pub nofile: Option<Rlimit>,
    /// Threads of the user (`RLIMIT_NPROC`).
    pub nproc: Option<Rlimit>,
    /// Bytes of the main thread's stack (`RLIMIT_STACK`).
    pub stack: Option<Rlimit>,
    /// Bytes of address space (`RLIMIT_AS`).
    pub address_space: Option<Rlimit>,
}

/// Resource limits of this process.
pub(super) fn rlimits(source: &Source) -> Rlimits {
    let limits = source.text("/proc/self/limits").unwrap_or_default();
    let bound = |value| match value {
        u64::MAX => Bound::Unlimited,
        value => Bound::At(value),
    };
    let limit = |name| {
        let (soft, hard) = rlimit(&limits, name)?;
        Some(Rlimit { soft: bound(soft), hard: bound(hard) })
    };
    Rlimits {
        nofile: limit("Max open files"),
        nproc: limit("Max processes"),
        stack: limit("Max stack size"),
        address_space: limit("Max address space"),
    }
}

/// Tightest quota of the process's group and its ancestors. A group without the file has no limit; one
/// with an unknown text leaves the quota unknown.
pub(super) fn cpu_quota(source: &Source, groups: &ControlGroups) -> Option<CpuQuota> {
    let groups = groups.own(source, "cpu")?;
    let mut tightest = CpuQuota::Unlimited;
    for folder in &groups.folders {
        let quota = if groups.version_2 {
            // `max 100000` or `50000 100000`.
            source.text(&format!("{folder}/cpu.max"))
        } else {
            let quota = source.text(&format!("{folder}/cpu.cfs_quota_us"));
            let period = source.text(&format!("{folder}/cpu.cfs_period_us"));
            quota.zip(period).map(|(quota, period)| format!("{quota} {period}"))
        };
        if let Some(text) = quota {
            let quota = text.split_once(' ').and_then(|(quota, period)| limited(quota, period))?;
            let is_tighter =
                quota.cpus().is_some_and(|cpus| tightest.cpus().is_none_or(|t| cpus < t));
            tightest = if is_tighter { quota } else { tightest };
        }
    }
    Some(tightest)
}

/// A quota and its period; `max` and -1 are no limit.
fn limited(quota: &str, period: &str) -> Option<CpuQuota> {
    if ["max", "-1"].contains(&quota) {
        return Some(CpuQuota::Unlimited);
    }
    Some(CpuQuota::Limited {
        quota_us: quota.parse().ok()?,
        period_us: period.parse().ok().filter(|&period| period > 0)?,
    })
}

/// Lowest memory limit of the process's group and its ancestors.
pub(super) fn memory_limit(source: &Source, groups: &ControlGroups) -> Option<Bound> {
    // Version 1 writes LONG_MAX rounded down to a page if no limit is set.
    const NO_LIMIT: u64 = 1 << 62;
    let groups = groups.own(source, "memory")?;
    let file = if groups.version_2 { "memory.max" } else { "memory.limit_in_bytes" };
    let numbers = groups
        .folders
        .iter()
        .filter_map(|folder| source.number::<u64>(&format!("{folder}/{file}")).ok());
    let lowest = numbers.filter(|bytes| *bytes < NO_LIMIT).min();
    Some(lowest.map_or(Bound::Unlimited, Bound::At))
}
