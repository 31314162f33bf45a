//! Placement: the CPU that each thread of a chain is pinned to. The runner or taskset(1) sets the CPUs of the whole
//! process from outside.

use std::str::FromStr;

use anyhow::Context;
use contract::BadUsage;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Layout of the threads of a chain, or of a runtime's workers, over the CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// As the kernel decides.
    #[default]
    Free,
    /// The first half on one CPU, the second half on another.
    Half,
    /// Neighbours on different CPUs.
    Spread,
    /// A whole chain on one CPU, the next chain on the next CPU.
    Chain,
    /// Neighbours on neighbours in this list, with which the runner places chains on pairs of related CPUs.
    On(&'static [usize]),
}

impl FromStr for Placement {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "free" => Ok(Placement::Free),
            "half" => Ok(Placement::Half),
            "spread" => Ok(Placement::Spread),
            "chain" => Ok(Placement::Chain),
            _ => {
                let cpus: Option<Vec<usize>> =
                    text.split(',').map(|cpu| cpu.parse().ok()).collect();
                let cpus = cpus.filter(|cpus| (2..=CpuSet::count()).contains(&cpus.len()));
                // Read once, it lives as long as the program.
                cpus.map(|cpus| Placement::On(cpus.leak())).ok_or(
                    "write free, half, spread, chain, or a list of at least two CPUs such as 0,4",
                )
            }
        }
    }
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
    /// Number of the chain that the threads belong to.
    chain: usize,
}

impl CpuAssignment {
    /// The CPUs that this process may use.
    pub fn new(placement: Placement) -> anyhow::Result<Self> {
        let cpus = allowed_cpus()?;
        if let Placement::On(list) = placement {
            if let Some(cpu) = list.iter().find(|cpu| !cpus.contains(cpu)) {
                return Err(BadUsage::new(format!(
                    "--placement: this process may not use CPU {cpu}: name other CPUs, or allow it by taskset(1)"
                )));
            }
            return Ok(CpuAssignment { placement, cpus: list.to_vec(), chain: 0 });
        }
        if matches!(placement, Placement::Half | Placement::Spread) && cpus.len() < 2 {
            return Err(BadUsage::new(
                "--placement: half and spread need two CPUs, but this process may use only one: use free, or allow more by taskset(1)",
            ));
        }
        Ok(CpuAssignment { placement, cpus, chain: 0 })
    }

    /// The same for the threads of another chain, which go on where the chain before it ends.
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
            Placement::Spread | Placement::On(_) => self.chain * count + index,
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

    #[test]
    fn a_list_keeps_its_order() {
        assert_eq!("4,0,1".parse(), Ok(Placement::On(&[4, 0, 1])));
        for text in ["", "4", "0-3", "0,,1", "0,-1", "spread,0"] {
            assert!(text.parse::<Placement>().is_err(), "{text}");
        }
        let refused = CpuAssignment::new(Placement::On(&[0, 1 << 20])).unwrap_err();
        assert!(refused.to_string().contains("may not use CPU"), "{refused}");
    }
}
