//! Where tasks run: CPU sets, and pinning a thread to one of them; and under which policy.

use std::fmt;
use std::str::FromStr;

use anyhow::Context;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde::Serialize;

use crate::BadUsage;
use crate::policy::{self, Policy};

/// A list of CPUs in the kernel's own notation, such as `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<usize>);

impl CpuList {
    /// The CPUs in ascending order.
    pub fn cpus(&self) -> &[usize] {
        &self.0
    }
}

impl From<Vec<usize>> for CpuList {
    /// The list of CPUs in ascending order, each once.
    fn from(cpus: Vec<usize>) -> Self {
        CpuList(cpus)
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| {
            part.parse::<usize>()
                .map_err(|_| format!("'{part}' is not a CPU number: write a list such as 0-3,8"))
                .and_then(|cpu| match cpu < CpuSet::count() {
                    true => Ok(cpu),
                    false => Err(format!(
                        "CPU {cpu} is past the last one, {}",
                        CpuSet::count() - 1
                    )),
                })
        };
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("the range '{part}' runs backwards"));
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(CpuList(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut rest = self.0.as_slice();
        while let Some(&first) = rest.first() {
            let run = rest
                .iter()
                .zip(first..)
                .take_while(|&(&a, b)| a == b)
                .count();
            write!(f, "{separator}{first}")?;
            if run > 1 {
                write!(f, "-{}", first + run - 1)?;
            }
            separator = ",";
            rest = &rest[run..];
        }
        Ok(())
    }
}

impl Serialize for CpuList {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How the threads of a program are laid over the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// the kernel decides
    Free,
    /// everything on the first CPU
    OneCpu,
    /// the first half of the chain (or of the workers, between which tasks may still move) on one
    /// CPU, the second half on another: two crossings an iteration, one of them the driver's
    Half,
    /// neighbours in the chain (or worker after worker) on different CPUs
    Spread,
}

/// The flags that say where a program runs, and how it is scheduled there.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Place {
    /// CPUs to run on, such as 0-3,8 [default: all that this process may use]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,

    /// How the threads (or the runtime's workers) are laid over these CPUs
    #[arg(long, value_enum, default_value_t = Placement::Free)]
    pub placement: Placement,

    /// The scheduling policy of all threads [default: as inherited]
    #[arg(long, value_enum)]
    #[serde(serialize_with = "policy::in_force")]
    pub policy: Option<Policy>,
}

/// What a placement needs in the way of threads that stay apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Several threads in a chain, each of which can be pinned by itself.
    Chain,
    /// One thread, or threads that come and go: only `free` and `one-cpu` mean something.
    Single,
}

impl Place {
    /// Confines this process to the CPUs asked for, puts it under the policy asked for, and returns
    /// where each of its threads goes. Call it before the first thread is created: threads inherit
    /// both.
    ///
    /// # Errors
    /// A [`BadUsage`] error where a CPU cannot be used or the placement means nothing here; another
    /// where the kernel denies it, such as a real-time policy without the right.
    pub fn confine(&self, layout: Layout) -> anyhow::Result<Seats> {
        let allowed = allowed(Pid::from_raw(0)).context("cannot read the CPUs of this process")?;
        let cpus = match &self.cpus {
            Some(list) => list.cpus().to_vec(),
            None => allowed.clone(),
        };
        if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(BadUsage::new(format!(
                "--cpus: CPU {cpu} is not one that this process may use ({})",
                CpuList(allowed)
            )));
        }
        let split = matches!(self.placement, Placement::Half | Placement::Spread);
        if split && layout == Layout::Single {
            return Err(BadUsage::new(
                "--placement: this program has no chain of threads to lay over CPUs: use free or one-cpu",
            ));
        }
        if split && cpus.len() < 2 {
            return Err(BadUsage::new(format!(
                "--placement: half and spread need two CPUs, and there is only CPU {}: use one-cpu",
                CpuList(cpus)
            )));
        }
        let confined = match self.placement {
            Placement::OneCpu => &cpus[..1],
            _ => &cpus[..],
        };
        if confined != allowed {
            pin(confined).context("cannot set the CPUs of this process")?;
        }
        policy::settle(self.policy)?;
        Ok(Seats {
            placement: self.placement,
            cpus,
        })
    }
}

/// Where each thread of a chain goes.
#[derive(Clone, Debug)]
pub struct Seats {
    placement: Placement,
    cpus: Vec<usize>,
}

impl Seats {
    /// How many CPUs the process runs on.
    pub fn cpus(&self) -> usize {
        match self.placement {
            Placement::OneCpu => 1,
            _ => self.cpus.len(),
        }
    }

    /// Whether threads are kept on CPUs of their own.
    pub fn apart(&self) -> bool {
        matches!(self.placement, Placement::Half | Placement::Spread)
    }

    /// Where the `index`th of `count` threads goes.
    pub fn seat(&self, index: u32, count: u32) -> Seat {
        let (index, count) = (index as usize, count as usize);
        Seat(match self.placement {
            Placement::Free | Placement::OneCpu => None,
            Placement::Half => Some(self.cpus[usize::from(index >= count.div_ceil(2))]),
            Placement::Spread => Some(self.cpus[index % self.cpus.len()]),
        })
    }
}

/// The CPU that a thread is bound to, if it is bound to one more narrowly than its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat(Option<usize>);

impl Seat {
    /// Binds the calling thread.
    ///
    /// # Errors
    /// What sched_setaffinity(2) reports.
    pub fn take(self) -> nix::Result<()> {
        match self.0 {
            Some(cpu) => pin(&[cpu]),
            None => Ok(()),
        }
    }
}

/// The CPUs that a thread may run on, in ascending order; 0 is the calling one.
pub(crate) fn allowed(thread: Pid) -> nix::Result<Vec<usize>> {
    let set = sched_getaffinity(thread)?;
    Ok((0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .collect())
}

/// Binds the calling thread, and the threads it will create, to `cpus`.
fn pin(cpus: &[usize]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_read_and_print() {
        for (text, cpus, printed) in [
            ("0", vec![0], "0"),
            ("0-3,8", vec![0, 1, 2, 3, 8], "0-3,8"),
            ("8,1,0,1", vec![0, 1, 8], "0-1,8"),
        ] {
            let list: CpuList = text.parse().unwrap();
            assert_eq!(list.cpus(), cpus);
            assert_eq!(list.to_string(), printed);
        }
        for text in [
            "",
            "a",
            "1-",
            "-1",
            "3-1",
            "0,,1",
            "99999",
            "0-99999999999999999999",
        ] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_chain_is_laid_over_the_cpus() {
        let seats = |placement| {
            let seats = Seats {
                placement,
                cpus: vec![2, 5],
            };
            (0..5).map(|i| seats.seat(i, 5).0).collect::<Vec<_>>()
        };
        assert_eq!(seats(Placement::Free), [None; 5]);
        assert_eq!(seats(Placement::OneCpu), [None; 5]);
        assert_eq!(seats(Placement::Half), [2, 2, 2, 5, 5].map(Some));
        assert_eq!(seats(Placement::Spread), [2, 5, 2, 5, 2].map(Some));
    }
}
