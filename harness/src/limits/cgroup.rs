//! The pids and memory controllers of the process's cgroup and of each of its
//! ancestors: version 1, version 2, and systems that have both.
//!
//! A limit of any ancestor holds for all that is below it, so the walk goes
//! from the process's own group up to the mount point. What lies above the
//! mount point, as it does in a container, cannot be seen and stays unknown.

use super::Resource;
use super::limit::{Limit, MOST_PIDS, Raise};
use super::mounts::Mount;
use super::system::System;

const READ_ONLY: &str = "refused here: the cgroup is mounted read-only; \
    raise it where this container or service is started";

/// Above this a byte limit is no limit: version 1 writes `LONG_MAX` rounded
/// down to a page where none is set.
const NO_BYTES: u64 = 1 << 62;

/// One file that holds a limit, beside the file that holds what is in use.
struct Control {
    controller: &'static str,
    resource: Resource,
    max: &'static str,
    current: &'static str,
    /// The line of `memory.stat` for page cache that the kernel drops before
    /// it refuses memory.
    reclaimable: Option<&'static str>,
    most: u64,
    /// What lifts the limit.
    none: &'static str,
}

/// Kernel fact: pids.max takes numbers up to `PID_MAX_LIMIT`, and the fork
/// that would pass it fails with EAGAIN (kernel/cgroup/pids.c).
const PIDS: Control = Control {
    controller: "pids",
    resource: Resource::Threads,
    max: "pids.max",
    current: "pids.current",
    reclaimable: None,
    most: MOST_PIDS,
    none: "max",
};

const MEMORY_V1: Control = Control {
    controller: "memory",
    resource: Resource::Memory,
    max: "memory.limit_in_bytes",
    current: "memory.usage_in_bytes",
    // `inactive_file` is the group's own; usage counts its children too.
    reclaimable: Some("total_inactive_file"),
    most: NO_BYTES,
    none: "-1",
};

const MEMORY_V2: Control = Control {
    max: "memory.max",
    current: "memory.current",
    reclaimable: Some("inactive_file"),
    none: "max",
    ..MEMORY_V1
};

/// Past memory.high nothing fails, but every task is slowed down to the speed
/// of reclaim, which measures nothing.
const MEMORY_HIGH: Control = Control {
    max: "memory.high",
    ..MEMORY_V2
};

/// Every limit of the process's cgroups that can be read.
pub(super) fn limits(system: &System) -> Vec<Limit> {
    let groups = system.read("/proc/self/cgroup").unwrap_or_default();
    let mut limits = Vec::new();
    for line in groups.lines() {
        // hierarchy:controllers:path, with no controllers for version 2.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let controllers: Vec<&str> = controllers.split(',').collect();
        let controls: &[Control] = if controllers == [""] {
            &[PIDS, MEMORY_V2, MEMORY_HIGH]
        } else {
            &[PIDS, MEMORY_V1]
        };
        for control in controls {
            let version_2 = controllers == [""];
            if !version_2 && !controllers.contains(&control.controller) {
                continue;
            }
            let holds = |mount: &&Mount| match version_2 {
                true => mount.kind == "cgroup2",
                false => {
                    let named = |option: &String| option == control.controller;
                    mount.kind == "cgroup" && mount.options.iter().any(named)
                }
            };
            if let Some((mount, group)) = locate(system.mounts().iter().filter(holds), path) {
                limits.extend(control.walk(system, mount, group));
            }
        }
    }
    limits
}

/// The mount that shows the group at `path`, and the group's path below its
/// mount point. Of several mounts, the one that shows the most ancestors.
///
/// In a container without a cgroup namespace the path may lie outside of what
/// is mounted; the mount point itself is then the nearest group to be seen.
fn locate<'a>(
    mounts: impl Iterator<Item = &'a Mount>,
    path: &'a str,
) -> Option<(&'a Mount, &'a str)> {
    let mut outside = None;
    let mut inside: Option<(&Mount, &str)> = None;
    for mount in mounts {
        match below(&mount.root, path) {
            Some(group) if inside.is_none_or(|(_, known)| group.len() > known.len()) => {
                inside = Some((mount, group));
            }
            Some(_) => {}
            None => {
                outside.get_or_insert((mount, ""));
            }
        }
    }
    inside.or(outside)
}

/// `path` with `root` taken off its front; `None` if it is not below `root`.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

impl Control {
    /// This limit of the group and of each group above it.
    fn walk(&self, system: &System, mount: &Mount, group: &str) -> Vec<Limit> {
        let point = mount.point.trim_end_matches('/');
        let mut limits = Vec::new();
        let mut group = group;
        loop {
            let directory = match group {
                "" => point.to_owned(),
                group => format!("{point}/{group}"),
            };
            if let Some((value, in_use)) = self.read(system, &directory) {
                let limit = system.limit(
                    self.max,
                    &format!("{directory}/{}", self.max),
                    self.resource,
                    (value, in_use),
                    Raise::Write {
                        most: self.most,
                        none: self.none,
                    },
                );
                limits.push(Limit {
                    note: mount.read_only.then_some(READ_ONLY),
                    ..limit
                });
            }
            if group.is_empty() {
                return limits;
            }
            group = group.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }

    /// The limit and what is in use; `None` where either is unknown, and where
    /// no limit is set (`max`, which is not a number).
    fn read(&self, system: &System, directory: &str) -> Option<(u64, u64)> {
        let value = system.number(&format!("{directory}/{}", self.max))?;
        let in_use = system.number(&format!("{directory}/{}", self.current))?;
        if value >= NO_BYTES {
            return None;
        }
        let reclaimable = self
            .reclaimable
            .and_then(|name| {
                let stat = system.read(&format!("{directory}/memory.stat"))?;
                let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
                line.trim().parse().ok()
            })
            .unwrap_or(0);
        Some((value, in_use.saturating_sub(reclaimable)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_below_whole_directories_only() {
        assert_eq!(below("/", "/a/b"), Some("a/b"));
        assert_eq!(below("/", "/"), Some(""));
        assert_eq!(below("/docker/x", "/docker/x"), Some(""));
        assert_eq!(below("/docker/x", "/docker/x/y"), Some("y"));
        assert_eq!(below("/docker/x", "/docker/xy"), None);
        assert_eq!(below("/docker/x", "/"), None);
        assert_eq!(below("/", "/../sibling"), None);
        assert_eq!(below("/..", "/"), None);
    }
}
