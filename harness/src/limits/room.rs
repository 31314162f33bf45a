//! Tasks that come and go: how many of them may be there at once.

use serde::Serialize;

use super::limit::Raise;
use super::{Demand, Limits, Need};

/// Tasks that end by themselves while others are still being created, so that not all of them need
/// be alive at once.
#[derive(Debug, Clone)]
pub struct Passing {
    /// What they need while they are alive.
    pub alive: Demand,
    /// What one of them still holds when it has ended, until it is joined.
    pub ended: Need,
    /// How many there are in all.
    pub tasks: u64,
}

/// How many tasks may be there at once. Whoever creates them joins the oldest before he goes past
/// one of these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Room {
    /// How many may be alive.
    pub alive: u64,
    /// How many may be there, those among them that have ended and were not joined.
    pub unjoined: u64,
}

impl Room {
    /// For so many that are all alive at once.
    pub fn for_all(tasks: u32) -> Self {
        let tasks = u64::from(tasks);
        Room {
            alive: tasks,
            unjoined: tasks,
        }
    }
}

impl Passing {
    /// How many may be there, where `largest` tells how many tasks of a demand fit, and the demand
    /// that this comes from.
    ///
    /// All are kept until the last one is there, as long as a fourth of those that would fit by
    /// themselves may then be alive beside those that have ended. Else none that has ended is kept.
    fn room(&self, largest: impl Fn(&Demand) -> u64) -> (Room, Demand) {
        let keeping = Demand {
            fixed: self.alive.fixed + self.ended.times(self.tasks),
            per_task: self.alive.per_task.less(self.ended),
            shares: self.alive.shares.clone(),
        };
        let beside = largest(&keeping).min(self.tasks);
        let alone = largest(&self.alive).min(self.tasks);
        if beside > 0 && beside >= alone / 4 {
            let room = Room {
                alive: beside,
                unjoined: self.tasks,
            };
            return (room, keeping);
        }
        let room = Room {
            alive: alone,
            unjoined: alone,
        };
        (room, self.alive.clone())
    }

    /// What to raise the limits for: as many at once as those allow that nobody can raise, and how
    /// many that are.
    pub(crate) fn to_raise(&self, limits: &Limits) -> (Demand, u64) {
        let (room, demand) = self.room(|demand| limits.largest_raised(demand));
        (demand, room.alive)
    }
}

impl Limits {
    /// How many of these tasks may be there at once; none where not even one fits.
    pub fn room(&self, passing: &Passing) -> Room {
        passing.room(|demand| self.largest(demand)).0
    }

    /// The largest number of tasks that the limits allow which no program can raise.
    fn largest_raised(&self, demand: &Demand) -> u64 {
        self.iter()
            .filter(|limit| !matches!(limit.raise, Raise::Sysctl { .. } | Raise::Rlimit(_)))
            .map(|limit| limit.largest(demand))
            .min()
            .unwrap_or(u64::MAX)
    }
}
