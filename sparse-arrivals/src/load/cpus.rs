//! CPUs of an open loop: one for the generator if there are two or more, the others for what serves.

use anyhow::Context;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// CPUs that this process may use.
#[derive(Clone, Debug)]
pub(super) struct Cpus {
    /// The generator's own; `None` if there is one CPU for all.
    pub(super) generator: Option<usize>,
    /// Those of what serves.
    pub(super) serving: Vec<usize>,
}

impl Cpus {
    /// The last CPU that this process may use is the generator's.
    pub(super) fn allowed() -> anyhow::Result<Self> {
        let set = sched_getaffinity(Pid::from_raw(0)).context("cannot read the CPU affinity")?;
        let is_in = |&cpu: &usize| set.is_set(cpu).unwrap_or(false);
        let mut serving: Vec<usize> = (0..CpuSet::count()).filter(is_in).collect();
        let generator = if serving.len() > 1 { serving.pop() } else { None };
        Ok(Cpus { generator, serving })
    }
}

/// Restricts the calling thread, and those that it creates, to these CPUs.
pub(super) fn restrict(cpus: &[usize]) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter()
        .try_for_each(|&cpu| set.set(cpu))
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .with_context(|| format!("cannot restrict a thread to the CPUs {cpus:?}"))
}
