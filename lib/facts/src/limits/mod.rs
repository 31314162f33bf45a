//! Limits of the system and of a process: which are too low for N tasks, and what raises them.
//!
//! A limit that is met half-way shows as a bare EAGAIN, or not at all: past `vm.max_map_count` a spawn
//! returns Ok and the child dies while it sets up its signal stack. Hence the sum beforehand.
//!
//! A limit that is not set, that does not bind, or that cannot be read takes no part in the sum; its
//! status says why.

mod group;
mod maker;
mod remedy;
mod rights;
mod status;
mod system;
#[cfg(test)]
mod tests;

use std::path::Path;

use contract::message::{Need, Needs};
use serde::Serialize;

use crate::source::Source;

pub use remedy::{Lasting, Remedy};
pub use rights::{CapabilityState, Rights};
pub use status::{LimitState, LimitStatus};

use remedy::Setting;
use system::System;

/// Resource that a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Open file descriptors.
    Descriptors,
    /// Threads and processes: the kernel counts them alike.
    Threads,
    /// Memory maps.
    Maps,
    /// Resident memory, in bytes.
    Memory,
    /// Reserved memory, in bytes: at least the resident memory.
    AddressSpace,
    /// Pages of pipe buffers. Programs do not say how many pipes they need.
    PipePages,
}

impl Resource {
    /// Amounts are bytes; otherwise they are counts.
    pub fn is_bytes(self) -> bool {
        matches!(self, Resource::Memory | Resource::AddressSpace)
    }

    /// Need of this resource.
    pub fn need(self, needs: &Needs) -> Need {
        match self {
            Resource::Descriptors => needs.descriptors,
            // The first thread is in no program's needs.
            Resource::Threads => needs.threads + Need::new(1, 0),
            Resource::Maps => needs.maps,
            Resource::Memory => needs.bytes,
            Resource::AddressSpace => needs.bytes + needs.space,
            Resource::PipePages => Need::default(),
        }
    }
}

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

/// Limits that are too low for N tasks of a program.
#[derive(Debug, Clone, Serialize)]
pub struct LimitsReport {
    /// Number of tasks.
    pub tasks: u64,
    /// Most tasks that fit within every limit; absent where no known limit bounds them.
    pub most: Option<u64>,
    /// Name of the limit that allows the fewest tasks.
    pub tightest: Option<String>,
    /// Every limit that is too low, in the order in which to raise them.
    pub shortages: Vec<Shortage>,
}

impl LimitsReport {
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
    setting: Setting,
}

impl Limits {
    /// Reads the limits of the running system.
    pub fn read() -> Self {
        Limits::read_under(Path::new("/"))
    }

    /// Reads the limits from `/proc`, `/sys` and `/etc` below a root folder.
    pub fn read_under(root: &Path) -> Self {
        let source = Source::new(root);
        let system = System::new(&source);
        let mut statuses = system.statuses();
        statuses.extend(group::statuses(&source));
        Limits {
            statuses,
            rights: Rights::of(&system),
            setting: Setting::read(&source, system.is_root()),
        }
    }

    /// Every limit, with those that do not bind and those that cannot be read.
    pub fn statuses(&self) -> &[LimitStatus] {
        &self.statuses
    }

    /// Rights of this process to raise them.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Limit that allows the fewest tasks, and how many; `None` where none bounds them.
    pub fn tightest(&self, needs: &Needs) -> Option<(&LimitStatus, u64)> {
        self.statuses
            .iter()
            .filter_map(|status| Some((status, status.most_tasks(needs)?)))
            .min_by_key(|(_, most)| *most)
    }

    /// Limits that are too low for so many tasks with these needs.
    pub fn report(&self, needs: &Needs, tasks: u64) -> LimitsReport {
        let tightest = self.tightest(needs);
        let shortages = self.statuses.iter().filter_map(|limit| {
            let needed = limit.needed(needs, tasks)?;
            Some(Shortage {
                limit: limit.clone(),
                needed,
                remedy: self.setting.remedy(limit, needed),
            })
        });
        LimitsReport {
            tasks,
            most: tightest.map(|(_, most)| most),
            tightest: tightest.map(|(limit, _)| limit.name.clone()),
            shortages: shortages.collect(),
        }
    }
}
