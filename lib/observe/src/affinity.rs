//! CPUs that a process may use.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// CPUs that this process may use, ascending.
pub fn allowed() -> nix::Result<Vec<u32>> {
    allowed_to(0)
}

/// CPUs that a process's first thread may use, ascending.
pub fn allowed_to(pid: i32) -> nix::Result<Vec<u32>> {
    let set = sched_getaffinity(Pid::from_raw(pid))?;
    let cpus = (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false));
    Ok(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Restricts the calling thread to these CPUs, and what it starts. Allocates nothing.
pub fn restrict(cpus: &[u32]) -> nix::Result<()> {
    sched_setaffinity(Pid::from_raw(0), &set_of(cpus)?)
}

/// These CPUs as system calls take them.
///
/// # Errors
/// If a number is larger than any CPU's.
pub fn set_of(cpus: &[u32]) -> nix::Result<CpuSet> {
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|&cpu| set.set(cpu as usize))?;
    Ok(set)
}
