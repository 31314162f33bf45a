//! Needs of a run, so that a runner can refuse a run that cannot fit.

use std::ops::Add;

use serde::{Deserialize, Serialize};

/// Needs of a run, by resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    #[serde(default, skip_serializing_if = "Need::is_none")]
    pub descriptors: Need,
    /// Threads and processes besides the first one.
    #[serde(default, skip_serializing_if = "Need::is_none")]
    pub threads: Need,
    #[serde(default, skip_serializing_if = "Need::is_none")]
    pub maps: Need,
    /// Memory of the process and of the kernel, in bytes.
    #[serde(default, skip_serializing_if = "Need::is_none")]
    pub bytes: Need,
    /// Address space beyond that, in bytes: what stacks reserve and do not use.
    #[serde(default, skip_serializing_if = "Need::is_none")]
    pub space: Need,
}

impl Needs {
    /// The same for so many tasks and no other number: all of it is fixed.
    #[must_use]
    pub fn fixed(self, tasks: u32) -> Needs {
        self.map(|need| Need::new(need.of_tasks(tasks.into()), 0))
    }

    /// Needs of so many chains of tasks: each further driver, with its link, needs what a task does.
    #[must_use]
    pub fn chains(self, chains: u32) -> Needs {
        let chains = u64::from(chains);
        self.map(|need| {
            let drivers = need.each.saturating_mul(chains.saturating_sub(1));
            Need::new(need.fixed.saturating_add(drivers), need.each.saturating_mul(chains))
        })
    }

    fn map(self, change: impl Fn(Need) -> Need) -> Needs {
        let Needs { descriptors, threads, maps, bytes, space } = self;
        let [descriptors, threads, maps, bytes, space] =
            [descriptors, threads, maps, bytes, space].map(change);
        Needs { descriptors, threads, maps, bytes, space }
    }
}

impl Add for Needs {
    type Output = Needs;

    fn add(self, other: Needs) -> Needs {
        Needs {
            descriptors: self.descriptors + other.descriptors,
            threads: self.threads + other.threads,
            maps: self.maps + other.maps,
            bytes: self.bytes + other.bytes,
            space: self.space + other.space,
        }
    }
}

/// Need of one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// However many tasks there are.
    #[serde(default)]
    pub fixed: u64,
    #[serde(default)]
    pub each: u64,
}

impl Need {
    /// A need with both parts.
    pub fn new(fixed: u64, each: u64) -> Self {
        Need { fixed, each }
    }

    /// True if nothing is needed.
    pub fn is_none(&self) -> bool {
        *self == Need::default()
    }

    /// Need of so many tasks.
    pub fn of_tasks(self, tasks: u64) -> u64 {
        self.each.saturating_mul(tasks).saturating_add(self.fixed)
    }

    /// Most tasks that `available` allows; `None` if tasks need none of it.
    pub fn fitting(self, available: u64) -> Option<u64> {
        available.saturating_sub(self.fixed).checked_div(self.each)
    }
}

impl Add for Need {
    type Output = Need;

    fn add(self, other: Need) -> Need {
        Need::new(self.fixed.saturating_add(other.fixed), self.each.saturating_add(other.each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_tells_how_many_tasks_fit() {
        let need = Need::new(10, 2);
        assert_eq!((need.of_tasks(5), need.fitting(20), need.fitting(9)), (20, Some(5), Some(0)));
        assert_eq!(Need::new(10, 0).fitting(20), None);
        assert_eq!(Need::new(1, u64::MAX).of_tasks(2), u64::MAX);
        let fixed = Needs { maps: need, ..Needs::default() }.fixed(7);
        assert_eq!(fixed.maps, Need::new(24, 0));
        // Three chains of tasks at 2 each, and two drivers more.
        let three = Needs { maps: need, ..Needs::default() }.chains(3);
        assert_eq!(three.maps, Need::new(10 + 2 * 2, 3 * 2));
    }
}
