//! One limit, and what raises it.

use serde::Serialize;

use super::exceeded::Shortage;
use super::remedy::Remedy;
use super::{Demand, Resource};

/// The largest thread number of a 64-bit Linux (`PID_MAX_LIMIT`, include/linux/threads.h).
pub(super) const MOST_PIDS: u64 = 4_194_304;

/// One limit that binds this process.
#[derive(Debug, Clone, Serialize)]
pub struct Limit {
    /// Its name as people know it.
    pub name: String,
    /// The file that it was read from.
    pub source: String,
    /// What it bounds.
    pub resource: Resource,
    /// The most that may be in use, in counts or in bytes.
    pub value: u64,
    /// What is in use already.
    pub in_use: u64,
    #[serde(skip)]
    pub(super) raise: Raise,
    /// Why the command may be refused here, if that is known.
    #[serde(skip)]
    pub(super) note: Option<&'static str>,
    /// Root needs no sudo, and a container often has none.
    #[serde(skip)]
    pub(super) as_root: bool,
    /// Whether what is in use is not shown by the kernel, and counted as nothing.
    #[serde(skip)]
    pub(super) hidden: bool,
}

/// How a limit is raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raise {
    /// A kernel parameter, which takes at most `most`. It counts in units of
    /// which each of what is limited takes `each`.
    Sysctl {
        key: &'static str,
        most: u64,
        each: u64,
    },
    /// A resource limit of the calling shell, which programs inherit.
    Rlimit(Rlimit),
    /// Writing a number to the file that it was read from; `none` lifts it.
    Write { most: u64, none: &'static str },
    /// Switching a kernel parameter to a value that lifts the limit.
    Switch((&'static str, &'static str)),
    /// No command does.
    Never(&'static str),
}

/// What it takes to write a resource limit's command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rlimit {
    /// The name of prlimit's option.
    pub(super) option: &'static str,
    /// Whether root asks, who has a line of their own in limits.conf(5).
    pub(super) is_root: bool,
    /// The letter of the shell's ulimit.
    pub(super) flag: char,
    /// How much one unit of that ulimit is.
    pub(super) unit: u64,
    /// The hard limit, up to which no privilege is needed.
    pub(super) hard: u64,
    /// A value that must not be passed without need.
    pub(super) prefer_below: u64,
    /// The largest value that the kernel takes.
    pub(super) most: u64,
}

impl Limit {
    /// How much more may be used.
    pub fn room(&self) -> u64 {
        self.value.saturating_sub(self.in_use)
    }

    /// The largest number of tasks of this demand that it allows by itself.
    pub fn largest(&self, demand: &Demand) -> u64 {
        let each = demand.per_task.of(self.resource);
        let fixed = demand.fixed.of(self.resource);
        // A map of the largest size may be there as often as one likes.
        if self.resource == Resource::LargestMap {
            return match fixed.max(each) <= self.room() {
                true => u64::MAX,
                false => 0,
            };
        }
        match self.room().checked_sub(fixed) {
            Some(room) => room.checked_div(each).unwrap_or(u64::MAX),
            None => 0,
        }
    }

    /// What is missing when `more` is needed beyond what is in use; `None`
    /// when it fits, or when nothing is needed.
    pub fn shortage(&self, more: u64) -> Option<Shortage> {
        let needed = self.in_use.saturating_add(more);
        if more == 0 || needed <= self.value {
            return None;
        }
        Some(self.shortage_of(needed))
    }

    /// The shortage that asks for `needed` in all, what is in use included.
    pub(super) fn shortage_of(&self, needed: u64) -> Shortage {
        let Remedy {
            command,
            needs_root,
            lasts,
            to_last,
        } = self.remedy(needed);
        Shortage {
            name: self.name.clone(),
            source: self.source.clone(),
            resource: self.resource,
            needed,
            in_use: self.in_use,
            allowed: self.value,
            note: self.note.filter(|_| lasts.is_some() && needs_root),
            remedy: command,
            needs_root,
            lasts,
            to_last,
        }
    }
}
