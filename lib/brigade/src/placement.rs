//! The CPU on which each thread of a chain is pinned. The runner or taskset(1) sets the CPUs of the whole process from
//! outside.

use anyhow::Context;
use clap::ValueEnum;
use contract::BadUsage;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Layout of threads over CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Placement {
    /// as the kernel decides
    #[default]
    Free,
    /// the first half on one CPU, the second half on another
    Half,
    /// neighbours on different CPUs
    Spread,
}

impl Placement {
    /// An entry for each of so many threads, in order: its CPU, or `None` if the kernel decides.
    pub fn cpus(self, threads: u32) -> anyhow::Result<Vec<Option<usize>>> {
        let allowed = allowed_cpus()?;
        if self != Placement::Free && allowed.len() < 2 {
            return Err(BadUsage::new(
                "--placement: half and spread need two CPUs, but this process may use only one: use free, or allow more by taskset(1)",
            ));
        }
        Ok((0..threads as usize).map(|k| self.cpu(k, threads as usize, &allowed)).collect())
    }

    fn cpu(self, k: usize, threads: usize, allowed: &[usize]) -> Option<usize> {
        let place = match self {
            Placement::Free => return None,
            Placement::Half => usize::from(k >= threads.div_ceil(2)),
            Placement::Spread => k,
        };
        Some(allowed[place % allowed.len()])
    }
}

/// CPUs that this process may use, in order.
pub fn allowed_cpus() -> anyhow::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("cannot read the CPU affinity")?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

/// Restricts the calling thread, and the threads that it creates, to these CPUs.
pub fn restrict(cpus: &[usize]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|&cpu| set.set(cpu))?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// Restricts the calling thread to this CPU; `None` changes nothing.
pub fn pin(cpu: Option<usize>) -> nix::Result<()> {
    cpu.map_or(Ok(()), |cpu| restrict(&[cpu]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_laid_over_the_cpus() {
        for (placement, expected) in [
            (Placement::Free, [None; 5]),
            (Placement::Half, [Some(2), Some(2), Some(2), Some(3), Some(3)]),
            (Placement::Spread, [Some(2), Some(3), Some(5), Some(2), Some(3)]),
        ] {
            let cpus: [_; 5] = std::array::from_fn(|k| placement.cpu(k, 5, &[2, 3, 5]));
            assert_eq!(cpus, expected, "{placement:?}");
        }
    }
}
