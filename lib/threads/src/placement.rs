//! Placement: which CPU each thread of a chain is pinned to. The CPUs of the whole process are set
//! from outside, by the runner or by taskset(1).

use anyhow::Context;
use clap::ValueEnum;
use contract::BadUsage;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Layout of the threads of a chain, or of a runtime's workers, over the CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Placement {
    /// as the kernel decides
    #[default]
    Free,
    /// the first half on one CPU, the second half on another
    Half,
    /// neighbours on different CPUs
    Spread,
    /// all of a chain on one CPU, the next chain on the next one
    Chain,
}

/// CPUs that this process may use, in order.
pub fn allowed_cpus() -> anyhow::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("cannot read the CPU affinity")?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

/// Restricts the calling thread, and those that it creates, to these CPUs.
pub fn restrict(cpus: &[usize]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|&cpu| set.set(cpu))?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// The CPUs of this process, and how threads are laid over them.
#[derive(Clone, Debug)]
pub struct CpuAssignment {
    placement: Placement,
    cpus: Vec<usize>,
    /// Number of the chain that the threads are of.
    chain: usize,
}

impl CpuAssignment {
    /// The CPUs that this process may use.
    pub fn new(placement: Placement) -> anyhow::Result<Self> {
        let cpus = allowed_cpus()?;
        if matches!(placement, Placement::Half | Placement::Spread) && cpus.len() < 2 {
            return Err(BadUsage::new(
                "--placement: half and spread need two CPUs, and this process may use one: use free, or another taskset",
            ));
        }
        Ok(CpuAssignment { placement, cpus, chain: 0 })
    }

    /// The same for the threads of another chain: from where those of the chain before end.
    #[must_use]
    pub fn of_chain(&self, chain: u32) -> Self {
        CpuAssignment { chain: chain as usize, ..self.clone() }
    }

    /// Number of CPUs.
    pub fn count(&self) -> usize {
        self.cpus.len()
    }

    /// Pins the calling thread, the `index`th of `count`.
    pub fn pin(&self, index: u32, count: u32) -> nix::Result<()> {
        match self.cpu(index as usize, count as usize) {
            Some(cpu) => restrict(&[cpu]),
            None => Ok(()),
        }
    }

    fn cpu(&self, index: usize, count: usize) -> Option<usize> {
        let place = match self.placement {
            Placement::Free => return None,
            Placement::Half => 2 * self.chain + usize::from(index >= count.div_ceil(2)),
            Placement::Spread => self.chain * count + index,
            Placement::Chain => self.chain,
        };
        Some(self.cpus[place % self.cpus.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_laid_over_the_cpus_chain_after_chain() {
        let cpus = |placement| {
            let first = CpuAssignment { placement, cpus: vec![2, 3, 5, 7], chain: 0 };
            [0, 1, 2].map(|chain| [0, 1, 2].map(|k| first.of_chain(chain).cpu(k, 3)))
        };
        assert_eq!(cpus(Placement::Free), [[None; 3]; 3]);
        for (placement, expected) in [
            (Placement::Half, [[2, 2, 3], [5, 5, 7], [2, 2, 3]]),
            (Placement::Spread, [[2, 3, 5], [7, 2, 3], [5, 7, 2]]),
            (Placement::Chain, [[2; 3], [3; 3], [5; 3]]),
        ] {
            assert_eq!(cpus(placement), expected.map(|chain| chain.map(Some)), "{placement:?}");
        }
    }
}
