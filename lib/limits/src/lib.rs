//! Limits of the system and of a process: which are too low for N tasks, and what raises them. Programs ask for
//! themselves before they build anything, and the runner for the programs that it starts.
//!
//! A limit that is met half-way shows as a bare EAGAIN, or not at all: past `vm.max_map_count` a spawn
//! returns Ok and the child dies while it sets up its signal stack. Hence the sum beforehand.

mod limit;
mod needs;
mod rights;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

use host::cgroup::ControlGroups;
use host::source::Source;

pub use limit::{LimitStatus, Resource};
pub use needs::{Need, Needs};
pub use rights::{CapabilityState, Rights};

/// All limits of a program that is about to be started, or has just been. What others use changes: read them just before.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Every limit, even if it does not bind or cannot be read, in the order in which to raise them.
    pub statuses: Vec<LimitStatus>,
    pub rights: Rights,
}

impl Limits {
    /// Limits on this system.
    pub fn read() -> Self {
        Limits::read_under(Path::new("/"))
    }

    /// The same from `/proc` and `/sys` below a root folder.
    pub fn read_under(root: &Path) -> Self {
        let source = Source::new(root);
        let groups = ControlGroups::read(&source);
        let rights = Rights::read(&source, &groups);
        Limits { statuses: table::read(&source, &rights, &groups), rights }
    }

    /// True if at least one limit could be read: without /proc none can.
    pub fn are_known(&self) -> bool {
        self.statuses.iter().any(|limit| limit.value.is_some())
    }

    /// Limit that allows the fewest tasks, and how many; `None` if none bounds them.
    pub fn tightest(&self, needs: &Needs) -> Option<(&LimitStatus, u64)> {
        let bounds = self.statuses.iter().filter_map(|s| Some((s, s.most_tasks(needs)?)));
        bounds.min_by_key(|(_, most)| *most)
    }

    /// Limits that are too low for so many tasks, each with the value that they need.
    pub fn too_low(&self, needs: &Needs, tasks: u64) -> Vec<(&LimitStatus, u64)> {
        let limits = self.statuses.iter();
        limits.filter_map(|limit| Some((limit, limit.needed(needs, tasks)?))).collect()
    }
}
