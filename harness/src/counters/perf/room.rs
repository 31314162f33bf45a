//! How many counters there are descriptors for, and whose.

use crate::counters::{Scope, reason};

/// What there is to count, and with how many descriptors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) threads: usize,
    /// None, where what runs on a CPU may not be counted.
    pub(super) cpus: usize,
    pub(super) spare: u64,
}

impl Room {
    /// How many descriptors events of so many parts take for so many threads or CPUs.
    fn demand(parts: &[usize], targets: usize) -> u64 {
        parts.iter().sum::<usize>() as u64 * targets as u64
    }

    /// Whose events are counted, and how many of the first ones there is room for.
    pub(super) fn plan(self, parts: &[usize]) -> (Scope, usize) {
        let fits = self.threads > 0 && Room::demand(parts, self.threads) <= self.spare;
        let (scope, targets) = match fits || self.cpus == 0 {
            true => (Scope::Threads, self.threads),
            false => (Scope::Cpus, self.cpus),
        };
        let fits = |fit: &usize| Room::demand(&parts[..*fit], targets) <= self.spare;
        let most = (0..=parts.len()).rev().find(fits);
        (scope, if targets == 0 { 0 } else { most.unwrap_or(0) })
    }

    /// Why there is no room for the others.
    pub(super) fn reason(self, parts: &[usize]) -> String {
        match self.threads {
            0 => reason::NO_THREADS.to_owned(),
            threads => reason::descriptors(Room::demand(parts, threads), self.spare),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_one_by_one_as_far_as_descriptors_go() {
        let plan = |threads, cpus, spare| {
            let room = Room {
                threads,
                cpus,
                spare,
            };
            room.plan(&[1, 1, 3, 1])
        };
        assert_eq!(plan(10, 2, 60), (Scope::Threads, 4));
        assert_eq!(plan(10, 2, 59), (Scope::Cpus, 4));
        assert_eq!(plan(10, 2, 11), (Scope::Cpus, 3));
        assert_eq!(plan(10, 0, 59), (Scope::Threads, 3));
        assert_eq!(plan(10, 0, 20), (Scope::Threads, 2));
        assert_eq!(plan(10, 0, 9), (Scope::Threads, 0));
        // /proc hides them.
        assert_eq!(plan(0, 2, 60), (Scope::Cpus, 4));
        assert_eq!(plan(0, 0, 60), (Scope::Threads, 0));
    }
}
