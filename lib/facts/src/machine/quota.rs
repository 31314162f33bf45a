//! CPU time that control groups grant the runner.

use serde::{Deserialize, Serialize};

use crate::cgroup::ControlGroups;
use crate::source::Source;

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

/// Tightest quota of the process's group and its ancestors. A group without the file has no limit; one
/// with an unknown text leaves the quota unknown.
pub(super) fn cpu_quota(source: &Source, groups: &ControlGroups) -> Option<CpuQuota> {
    let groups = groups.own(source, "cpu")?;
    let mut tightest = CpuQuota::Unlimited;
    for folder in &groups.folders {
        let quota = if groups.version == 2 {
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
