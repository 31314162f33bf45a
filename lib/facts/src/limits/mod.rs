//! Limits of the system and of a process: which are too low for N tasks, and what raises them.
//!
//! A limit that is met half-way shows as a bare EAGAIN, or not at all: past `vm.max_map_count` a spawn
//! returns Ok and the child dies while it sets up its signal stack. Hence the sum beforehand.
//!
//! A limit that is not set, that does not bind, or that cannot be read takes no part in the sum; its
//! status says why.

mod group;
mod remedy;
mod rights;
mod status;
mod system;
#[cfg(test)]
mod tests;

use std::path::Path;

use contract::message::Needs;
use serde::Serialize;

use crate::cgroup::ControlGroups;
use crate::source::Source;

pub use remedy::Remedy;
pub use rights::{CapabilityState, Rights};
pub use status::{LimitState, LimitStatus, Resource};

use system::System;

/// A limit that is too low.
#[derive(Debug, Clone, Serialize)]
pub struct Shortage {
    /// The limit.
    pub limit: LimitStatus,
    /// Value that is needed, what is in use included.
    pub needed: u64,
    /// Command that raises it.
    pub remedy: Remedy,
}

/// Fit of N tasks within the limits.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Most tasks that fit within every limit; absent if no known limit bounds them.
    pub most: Option<u64>,
    /// Every limit that is too low, in the order in which to raise them.
    pub shortages: Vec<Shortage>,
}

impl Fit {
    /// All tasks fit.
    pub fn is_enough(&self) -> bool {
        self.shortages.is_empty()
    }
}

/// All limits at one moment. What others use changes: read them just before a program starts.
#[derive(Debug, Clone)]
pub struct Limits {
    statuses: Vec<LimitStatus>,
    rights: Rights,
}

impl Limits {
    /// Reads the limits of the running system.
    pub fn read() -> Self {
        Limits::read_under(Path::new("/"))
    }

    /// Reads the limits from `/proc` and `/sys` below a root folder.
    pub fn read_under(root: &Path) -> Self {
        let source = Source::new(root);
        let groups = ControlGroups::read(&source);
        let rights = Rights::read(&source, &groups);
        let mut statuses = System::read(&source, &rights).statuses();
        statuses.extend(group::statuses(&source, &groups));
        Limits { statuses, rights }
    }

    /// Every limit, with those that do not bind and those that cannot be read.
    pub fn statuses(&self) -> &[LimitStatus] {
        &self.statuses
    }

    /// Rights of this process to raise them.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Limit that allows the fewest tasks, and how many; `None` if none bounds them.
    pub fn tightest(&self, needs: &Needs) -> Option<(&LimitStatus, u64)> {
        let bounds = self.statuses.iter().filter_map(|s| Some((s, s.most_tasks(needs)?)));
        bounds.min_by_key(|(_, most)| *most)
    }

    /// Limits that are too low for so many tasks with these needs.
    pub fn report(&self, needs: &Needs, tasks: u64) -> Fit {
        let shortages = self.statuses.iter().filter_map(|limit| {
            let needed = limit.needed(needs, tasks)?;
            let remedy = Remedy::new(limit, needed, self.rights.root);
            Some(Shortage { limit: limit.clone(), needed, remedy })
        });
        let most = self.tightest(needs).map(|(_, most)| most);
        Fit { most, shortages: shortages.collect() }
    }
}
