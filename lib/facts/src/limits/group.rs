//! Limits of the process's control groups and of their ancestors.

use super::remedy::RaiseMethod;
use super::{LimitState, LimitStatus, Resource};
use crate::cgroup::{ControlGroups, Groups};
use crate::source::{Source, word_after};

const READ_ONLY: &str = "the control group is mounted read-only: raise it where this container or \
                         service is started";

/// A file with a limit, and the file with what is in use.
struct Control {
    resource: Resource,
    max: &'static str,
    current: &'static str,
    /// Line of `memory.stat` for page cache that the kernel drops before it refuses memory.
    reclaimable: Option<&'static str>,
}

/// A fork that would pass it fails with EAGAIN (kernel/cgroup/pids.c).
const PIDS: Control = Control {
    resource: Resource::Threads,
    max: "pids.max",
    current: "pids.current",
    reclaimable: None,
};

const MEMORY_1: Control = Control {
    resource: Resource::Memory,
    max: "memory.limit_in_bytes",
    current: "memory.usage_in_bytes",
    // `inactive_file` is the group's own; usage counts its children too.
    reclaimable: Some("total_inactive_file"),
};

const MEMORY_2: Control = Control {
    max: "memory.max",
    current: "memory.current",
    reclaimable: Some("inactive_file "),
    ..MEMORY_1
};

/// Past it nothing fails, but every task is slowed down to the speed of reclaim.
const MEMORY_HIGH: Control = Control { max: "memory.high", ..MEMORY_2 };

/// Every limit that the pids and memory controllers set; of a controller that is out of sight, why.
pub(super) fn statuses(source: &Source, groups: &ControlGroups) -> Vec<LimitStatus> {
    let mut statuses = Vec::new();
    for (controller, version_1, version_2) in
        [("pids", &[PIDS][..], &[PIDS][..]), ("memory", &[MEMORY_1], &[MEMORY_2, MEMORY_HIGH])]
    {
        match groups.of(source, controller) {
            Ok(groups) => {
                for control in if groups.version_2 { version_2 } else { version_1 } {
                    let folders = groups.folders.iter();
                    statuses.extend(folders.filter_map(|f| control.status(source, &groups, f)));
                }
            }
            Err(why) => {
                let (name, file) = (format!("control group, {controller}"), "/proc/self/cgroup");
                let (resource, amounts) = (version_1[0].resource, (Err(why), Ok(None)));
                let method = RaiseMethod::Nothing("it is out of sight");
                statuses.push(LimitStatus::new(&name, file, resource, amounts, method));
            }
        }
    }
    statuses
}

impl Control {
    /// The limit of one group; `None` if it sets none.
    fn status(&self, source: &Source, groups: &Groups, folder: &str) -> Option<LimitStatus> {
        let file = format!("{folder}/{}", self.max);
        // The root of a hierarchy has no such file.
        if !source.exists(&file) || source.text(&file).as_deref() == Some("max") {
            return None;
        }
        let amounts = (source.number(&file), self.in_use(source, folder).map(Some));
        let status = LimitStatus::new(self.max, &file, self.resource, amounts, RaiseMethod::Group)
            .refused(groups.read_only.then_some(READ_ONLY));
        (status.state != LimitState::Free).then_some(status)
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
