//! Number of counters that there are descriptors for.

use crate::Scope;

use super::reason::{self, Reason};

/// Threads and CPUs to count, and descriptors for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    pub(super) threads: usize,
    /// 0 where what runs on a CPU may not be counted.
    pub(super) cpus: usize,
    pub(super) spare: u64,
}

impl Capacity {
    /// Descriptors for events of so many parts and so many targets.
    fn need(parts: &[usize], targets: usize) -> u64 {
        parts.iter().sum::<usize>() as u64 * targets as u64
    }

    /// Scope, and number of events that fit.
    pub(super) fn plan(self, parts: &[usize]) -> (Scope, usize) {
        let fits = self.threads > 0 && Capacity::need(parts, self.threads) <= self.spare;
        let (scope, targets) = match fits || self.cpus == 0 {
            true => (Scope::Threads, self.threads),
            false => (Scope::Cpus, self.cpus),
        };
        let fits = |fit: &usize| Capacity::need(&parts[..*fit], targets) <= self.spare;
        let most = (0..=parts.len()).rev().find(fits).unwrap_or(0);
        (scope, if targets == 0 { 0 } else { most })
    }

    /// Reason why the other events are not counted.
    pub(super) fn reason(self, parts: &[usize]) -> Reason {
        match self.threads {
            0 => reason::no_threads(),
            threads => reason::descriptors(Capacity::need(parts, threads), self.spare),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_as_far_as_descriptors_go() {
        let plan = |threads, cpus, spare| {
            let capacity = Capacity { threads, cpus, spare };
            capacity.plan(&[1, 1, 3, 1])
        };
        assert_eq!(plan(10, 2, 60), (Scope::Threads, 4));
        assert_eq!(plan(10, 2, 59), (Scope::Cpus, 4));
        assert_eq!(plan(10, 2, 11), (Scope::Cpus, 3));
        assert_eq!(plan(10, 0, 59), (Scope::Threads, 3));
        assert_eq!(plan(10, 0, 9), (Scope::Threads, 0));
        assert_eq!(plan(0, 2, 60), (Scope::Cpus, 4));
        assert_eq!(plan(0, 0, 60), (Scope::Threads, 0));
    }
}
