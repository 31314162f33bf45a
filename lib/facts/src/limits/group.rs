//! Limits of the process's control groups and of their ancestors.

use super::remedy::{MOST_PIDS, Means};
use super::{LimitStatus, Resource};
use crate::cgroup::{self, Groups};
use crate::source::{Source, word_after};

/// Above this a byte limit is none: version 1 writes LONG_MAX rounded down to a page.
const NO_BYTES: u64 = 1 << 62;

const READ_ONLY: &str = "the control group is mounted read-only: raise it where this container or \
                         service is started";

/// A file with a limit, and the file with what is in use.
struct Control {
    resource: Resource,
    max: &'static str,
    current: &'static str,
    /// Line of `memory.stat` for page cache that the kernel drops before it refuses memory.
    reclaimable: Option<&'static str>,
    most: u64,
    /// Text that lifts the limit.
    none: &'static str,
}

/// A fork that would pass it fails with EAGAIN (kernel/cgroup/pids.c).
const PIDS: Control = Control {
    resource: Resource::Threads,
    max: "pids.max",
    current: "pids.current",
    reclaimable: None,
    most: MOST_PIDS,
    none: "max",
};

const MEMORY_1: Control = Control {
    resource: Resource::Memory,
    max: "memory.limit_in_bytes",
    current: "memory.usage_in_bytes",
    // `inactive_file` is the group's own; usage counts its children too.
    reclaimable: Some("total_inactive_file"),
    most: NO_BYTES,
    none: "-1",
};

const MEMORY_2: Control = Control {
    max: "memory.max",
    current: "memory.current",
    reclaimable: Some("inactive_file "),
    none: "max",
    ..MEMORY_1
};

/// Past it nothing fails, but every task is slowed down to the speed of reclaim.
const MEMORY_HIGH: Control = Control { max: "memory.high", ..MEMORY_2 };

/// Every limit of the pids and memory controllers; of a controller that is out of sight, why.
pub(super) fn statuses(source: &Source) -> Vec<LimitStatus> {
    let mut statuses = Vec::new();
    for (controller, resource) in [("pids", Resource::Threads), ("memory", Resource::Memory)] {
        let groups = match cgroup::groups(source, controller) {
            Ok(groups) => groups,
            Err(why) => {
                let name = format!("control group, {controller}");
                let file = "/proc/self/cgroup";
                statuses.push(LimitStatus::unknown(&name, file, resource, why));
                continue;
            }
        };
        let controls: &[Control] = match (controller, groups.version_2) {
            ("pids", _) => &[PIDS],
            (_, true) => &[MEMORY_2, MEMORY_HIGH],
            (_, false) => &[MEMORY_1],
        };
        for control in controls {
            let folders = groups.folders.iter();
            statuses.extend(folders.filter_map(|folder| control.status(source, &groups, folder)));
        }
    }
    statuses
}

impl Control {
    /// The limit of one group; `None` where it has no such file, as the root of a hierarchy.
    fn status(&self, source: &Source, groups: &Groups, folder: &str) -> Option<LimitStatus> {
        let file = format!("{folder}/{}", self.max);
        if !source.exists(&file) {
            return None;
        }
        let text = source.read(&file);
        let value = match text.as_deref().map(str::trim) {
            Ok("max") => Ok(u64::MAX),
            _ => source.number(&file),
        };
        if value.as_ref().is_ok_and(|value| *value >= NO_BYTES) {
            let why = "none is set";
            return Some(LimitStatus::free(self.max, &file, self.resource, None, why));
        }
        let means = Means::Group { most: self.most, none: self.none };
        let amounts = (value, self.in_use(source, folder).map(Some));
        let status = LimitStatus::new(self.max, &file, self.resource, amounts, means);
        Some(status.refused(groups.read_only.then_some(READ_ONLY)))
    }

    fn in_use(&self, source: &Source, folder: &str) -> Result<u64, String> {
        let in_use: u64 = source.number(&format!("{folder}/{}", self.current))?;
        let reclaimable = self.reclaimable.and_then(|name| {
            let stat = source.text(&format!("{folder}/memory.stat"))?;
            word_after(&stat, name)
        });
        Ok(in_use.saturating_sub(reclaimable.unwrap_or(0)))
    }
}
