//! CPUs, scheduling policy and timer slack of a program.

#![expect(unsafe_code, reason = "nix has no sched_setscheduler(2)")]

use std::fmt;
use std::io;
use std::str::FromStr;

use contract::units::Span;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::Deserialize;

/// A set of CPUs; reads and displays as a list such as `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpus(Vec<u32>);

/// Scheduling policy (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// SCHED_OTHER, the default of every program
    Other,
    /// SCHED_BATCH: a woken thread does not preempt others
    Batch,
    /// SCHED_FIFO with priority 1: real time; needs a privilege
    Fifo,
}

impl Policy {
    /// Name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Other => "other",
            Policy::Batch => "batch",
            Policy::Fifo => "fifo",
        }
    }

    /// Gives it to the calling thread, between fork and exec: one system call.
    pub(crate) fn apply(self) -> io::Result<()> {
        let (number, sched_priority) = match self {
            Policy::Other => (libc::SCHED_OTHER, 0),
            Policy::Batch => (libc::SCHED_BATCH, 0),
            Policy::Fifo => (libc::SCHED_FIFO, 1),
        };
        let param = libc::sched_param { sched_priority };
        // SAFETY: the call reads `param`, which outlives it, and changes the calling thread alone.
        Errno::result(unsafe { libc::sched_setscheduler(0, number, &raw const param) })?;
        Ok(())
    }
}

impl Cpus {
    /// These CPUs, ascending.
    pub fn of(cpus: Vec<u32>) -> Self {
        Cpus(cpus)
    }

    /// CPUs that this process may use.
    pub fn allowed() -> nix::Result<Self> {
        Cpus::allowed_to(0)
    }

    /// CPUs that a process's first thread may use.
    pub(crate) fn allowed_to(pid: i32) -> nix::Result<Self> {
        let set = sched_getaffinity(Pid::from_raw(pid))?;
        let is_in = |&cpu: &usize| set.is_set(cpu).unwrap_or(false);
        let cpus = (0..CpuSet::count()).filter(is_in);
        Ok(Cpus(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect()))
    }

    /// The first one alone.
    #[must_use]
    pub fn first(&self) -> Self {
        Cpus(self.0.iter().take(1).copied().collect())
    }

    /// The CPUs in ascending order.
    pub fn list(&self) -> &[u32] {
        &self.0
    }

    pub(crate) fn set(&self) -> nix::Result<CpuSet> {
        let mut set = CpuSet::new();
        self.0.iter().try_for_each(|&cpu| set.set(cpu as usize))?;
        Ok(set)
    }
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut cpus = record::machine::cpu_list(text)
            .filter(|cpus| !cpus.is_empty())
            .ok_or_else(|| format!("'{text}' is not a list of CPUs: write one such as 0,2-3"))?;
        cpus.sort_unstable();
        cpus.dedup();
        let cpus = Cpus(cpus);
        cpus.set().map_err(|_| {
            format!("'{text}': no CPU has such a large number: write a list such as 0,2-3")
        })?;
        Ok(cpus)
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&record::machine::cpu_ranges(&self.0))
    }
}

/// A timer slack as a flag: to the kernel, 0 means the default value.
pub(crate) fn timer_slack(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(0) => Err("a timer slack is at least 1ns: raise it".to_owned()),
        span => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_read_as_they_print() {
        for (text, shown) in [("0", "0"), ("3,0-1", "0-1,3"), ("1,1,2", "1-2")] {
            assert_eq!(text.parse::<Cpus>().unwrap().to_string(), shown);
        }
        for text in ["", "x", "1-", "2-1", "99999"] {
            assert!(text.parse::<Cpus>().is_err(), "{text}");
        }
        assert_eq!(Cpus::allowed().unwrap().first().list().len(), 1);
        assert_eq!((timer_slack("0s").is_err(), timer_slack("1ns")), (true, Ok(Span(1))));
    }
}
