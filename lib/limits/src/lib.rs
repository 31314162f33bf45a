//! Limits of the system and of a process: which are too low for N tasks, and what raises them. Programs ask for
//! themselves before they build anything, and the runner for the programs that it starts.
//!
//! A limit that is met half-way shows as a bare EAGAIN, or not at all: past `vm.max_map_count` a spawn
//! returns Ok and the child dies while it sets up its signal stack. Hence the sum beforehand.

pub mod cgroup;
#[cfg(test)]
mod fixtures;
mod limit;
mod needs;
mod rights;
pub mod source;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::cgroup::ControlGroups;
use crate::limit::Asker;
use crate::source::Source;

pub use limit::{LimitStatus, Resource};
pub use needs::{Need, Needs};
pub use rights::{CapabilityState, Rights};

/// All limits at one moment. What others use changes: read them just before a program starts.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Every limit, even if it does not bind or cannot be read, in the order in which to raise them.
    pub statuses: Vec<LimitStatus>,
    /// Rights of this process to raise them.
    pub rights: Rights,
    asker: Asker,
}

impl Limits {
    /// Limits of a program that this process is going to start.
    pub fn read() -> Self {
        Limits::read_under(Path::new("/"))
    }

    /// The same from `/proc` and `/sys` below a root folder.
    pub fn read_under(root: &Path) -> Self {
        Limits::of(&Source::new(root), Asker::Child)
    }

    /// Limits of this process.
    pub fn of_this_process() -> Self {
        Limits::of(&Source::system(), Asker::Itself)
    }

    fn of(source: &Source, asker: Asker) -> Self {
        let groups = ControlGroups::read(source);
        let rights = Rights::read(source, &groups);
        Limits { statuses: table::read(source, asker, &rights, &groups), rights, asker }
    }

    /// True if at least one limit could be read: without /proc none can.
    pub fn are_known(&self) -> bool {
        self.statuses.iter().any(|limit| limit.value.is_some())
    }

    /// Most tasks that one limit allows; `None` if it bounds none.
    pub fn most_tasks(&self, limit: &LimitStatus, needs: &Needs) -> Option<u64> {
        let need = limit.resource.need(needs, self.asker);
        let room = limit.room?;
        if need.fixed > room { Some(0) } else { need.most(room) }
    }

    /// Limit that allows the fewest tasks, and how many; `None` if none bounds them.
    pub fn tightest(&self, needs: &Needs) -> Option<(&LimitStatus, u64)> {
        let bounds = self.statuses.iter().filter_map(|s| Some((s, self.most_tasks(s, needs)?)));
        bounds.min_by_key(|(_, most)| *most)
    }

    /// Value of a limit that N tasks need, what is in use included; `None` if they fit.
    pub fn needed(&self, limit: &LimitStatus, needs: &Needs, tasks: u64) -> Option<u64> {
        let need = limit.resource.need(needs, self.asker).of(tasks);
        (need > limit.room?).then(|| need.saturating_add(limit.in_use.unwrap_or(0)))
    }

    /// Limits that are too low for so many tasks, each with the value that they need.
    pub fn too_low(&self, needs: &Needs, tasks: u64) -> Vec<(&LimitStatus, u64)> {
        let limits = self.statuses.iter();
        limits.filter_map(|limit| Some((limit, self.needed(limit, needs, tasks)?))).collect()
    }
}
