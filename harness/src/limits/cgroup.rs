//! The pids and memory controllers of the process's cgroup and of each of its
//! ancestors: version 1, version 2, and systems that have both.
//!
//! A limit of any ancestor holds for all that is below it, so the walk goes
//! from the process's own group up to the mount point. What lies above the
//! mount point, as it does in a container, cannot be seen and stays unknown.

use std::fs;
use std::io::ErrorKind;

use super::Resource;
use super::finding::Finding;
use super::limit::{Limit, MOST_PIDS, Raise};
use super::mounts::Mount;
use super::system::System;

const GROUPS: &str = "/proc/self/cgroup";

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

/// Every limit of the process's cgroups; those that are not set, too.
pub(super) fn findings(system: &System) -> Vec<Finding> {
    let unknown = |why: String| {
        let resource = Resource::Threads;
        vec![Finding::unknown("control groups", GROUPS, resource, why)]
    };
    let groups = match system.text(GROUPS) {
        Ok(groups) => groups,
        Err(why) => return unknown(why),
    };
    let mut findings = Vec::new();
    let mut unseen = None;
    for line in groups.lines() {
        // hierarchy:controllers:path, with no controllers for version 2.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let controllers: Vec<&str> = controllers.split(',').collect();
        let version_2 = controllers == [""];
        let controls: &[Control] = match version_2 {
            true => &[PIDS, MEMORY_V2, MEMORY_HIGH],
            false => &[PIDS, MEMORY_V1],
        };
        for control in controls {
            if !version_2 && !controllers.contains(&control.controller) {
                continue;
            }
            let holds = |mount: &&Mount| control.is_in(mount, version_2);
            match locate(system.mounts().iter().filter(holds), path) {
                Some((mount, group)) => findings.extend(control.walk(system, mount, group)),
                None => unseen = unseen.or(Some((control.controller, path.to_owned()))),
            }
        }
    }
    match unseen {
        Some((controller, path)) if findings.is_empty() => unknown(format!(
            "the {controller} controller of group {path} is mounted nowhere in sight"
        )),
        _ => findings,
    }
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
    /// Whether a mount shows the groups of this controller.
    fn is_in(&self, mount: &Mount, version_2: bool) -> bool {
        match version_2 {
            true => mount.kind == "cgroup2",
            false => {
                let named = |option: &String| option == self.controller;
                mount.kind == "cgroup" && mount.options.iter().any(named)
            }
        }
    }

    /// This limit of the group and of each group above it.
    fn walk(&self, system: &System, mount: &Mount, group: &str) -> Vec<Finding> {
        let point = mount.point.trim_end_matches('/');
        let mut findings = Vec::new();
        let mut group = group;
        loop {
            let directory = match group {
                "" => point.to_owned(),
                group => format!("{point}/{group}"),
            };
            findings.extend(self.finding(system, mount, &directory));
            if group.is_empty() {
                return findings;
            }
            group = group.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }

    /// This limit of one group; `None` where it has none: the root of a hierarchy has no such
    /// file, nor has a group whose parent does not hand the controller down.
    fn finding(&self, system: &System, mount: &Mount, directory: &str) -> Option<Finding> {
        let source = format!("{directory}/{}", self.max);
        let unknown = |why| Some(Finding::unknown(self.max, &source, self.resource, why));
        let text = match fs::read_to_string(system.below_root(&source)) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => return None,
            Err(e) => return unknown(format!("cannot read {source}: {e}")),
        };
        let value = match text.trim() {
            "max" => NO_BYTES,
            number => match number.parse() {
                Ok(value) => value,
                Err(_) => return unknown(format!("{source} holds no number")),
            },
        };
        if value >= NO_BYTES {
            let free = Finding::free(self.max, &source, self.resource, None, "none is set");
            return Some(free);
        }
        let in_use = match self.in_use(system, directory) {
            Ok(in_use) => in_use,
            Err(why) => return unknown(why),
        };
        let raise = Raise::Write {
            most: self.most,
            none: self.none,
        };
        let limit = system.limit(self.max, &source, self.resource, (value, in_use), raise);
        Some(Finding::binds(Limit {
            note: mount.read_only.then_some(READ_ONLY),
            ..limit
        }))
    }

    fn in_use(&self, system: &System, directory: &str) -> Result<u64, String> {
        let in_use = system.number(&format!("{directory}/{}", self.current))?;
        let reclaimable = self
            .reclaimable
            .and_then(|name| {
                let stat = system.read(&format!("{directory}/memory.stat"))?;
                let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
                line.trim().parse().ok()
            })
            .unwrap_or(0);
        Ok(in_use.saturating_sub(reclaimable))
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
