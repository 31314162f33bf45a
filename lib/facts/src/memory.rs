//! Memory of processes, and of the kernel.
//!
//! Resident sizes come from `smaps_rollup`. The counters behind VmRSS and statm lag: each thread keeps
//! its own until it has 64 pages to add (Documentation/filesystems/proc.rst).

use std::collections::BTreeSet;

use procfs::process::{FDTarget, Process};
use procfs::{Current, Meminfo, ProcResult};
use serde::{Deserialize, Serialize};

/// Memory of some processes, and the kernel's memory of the whole system, in bytes.
///
/// Of several processes each figure is the sum, with shared pages divided by their users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Resident set; of several processes the same as `pss`.
    pub resident: Option<u64>,
    /// Resident set, with shared pages divided by their users.
    pub pss: Option<u64>,
    /// Resident anonymous memory: heap and stacks.
    pub anonymous: Option<u64>,
    /// Transparent huge pages in the anonymous memory.
    pub huge: Option<u64>,
    /// Page tables of the processes (VmPTE).
    pub page_tables: Option<u64>,
    /// Pages that used pipes keep. No counter of the kernel shows them outside of a control group.
    pub pipe_pages: Option<u64>,
    /// Largest resident set so far (VmHWM).
    pub peak_resident: Option<u64>,
    /// Kernel stacks of the whole system.
    pub system_kernel_stacks: Option<u64>,
    /// Page tables of the whole system.
    pub system_page_tables: Option<u64>,
    /// Slab memory of the whole system that cannot be reclaimed (SUnreclaim).
    pub system_slab: Option<u64>,
}

impl Memory {
    /// Kernel memory that follows the number of tasks, in bytes: kernel stacks, page tables and slab
    /// of the whole system, and the pages of the processes' pipes if these are known.
    ///
    /// Subtract a snapshot taken before; the difference can be negative if others freed memory.
    pub fn kernel(&self) -> Option<f64> {
        let system = [
            self.system_kernel_stacks?,
            self.system_page_tables?,
            self.system_slab?,
            self.pipe_pages.unwrap_or(0),
        ];
        Some(system.iter().map(|&part| part as f64).sum())
    }
}

/// Memory at two points of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryChange {
    /// Before anything was built; of a program that is looked at from outside, the system's alone.
    pub before: Memory,
    /// With every task alive and at rest; its peak is that of the iterations before. If a plan asked for
    /// no such rest, the peak alone.
    pub held: Option<Memory>,
}

/// Memory of all of these processes together, and of the kernel. A figure that one of them does not
/// give is absent; without processes all are.
pub fn of(pids: &[i32]) -> Memory {
    let each: Option<Vec<Memory>> = pids.iter().map(|&pid| of_one(pid, pids.len()).ok()).collect();
    let each = each.unwrap_or_default();
    let sum = |part: fn(&Memory) -> Option<u64>| {
        let first = each.first().and_then(part)?;
        each[1..].iter().try_fold(first, |all, one| Some(all + part(one)?))
    };
    let pages = pipes(pids).ok().filter(|_| !each.is_empty());
    Memory {
        // Of several processes each shared page counts once.
        resident: if each.len() == 1 { each[0].resident } else { sum(|memory| memory.pss) },
        pss: sum(|memory| memory.pss),
        anonymous: sum(|memory| memory.anonymous),
        huge: sum(|memory| memory.huge),
        page_tables: sum(|memory| memory.page_tables),
        peak_resident: sum(|memory| memory.peak_resident),
        pipe_pages: pages.map(|pages| pages * procfs::page_size()),
        ..system()
    }
}

/// Largest resident sets that these processes had until now, summed, in bytes.
pub fn peak(pids: &[i32]) -> Option<u64> {
    let peak = |pid: &i32| Process::new(*pid).ok()?.status().ok()?.vmhwm?.checked_mul(1024);
    pids.iter().map(peak).sum()
}

/// Kernel memory of the whole system: what to subtract, if it is read before a program starts.
pub fn system() -> Memory {
    let Ok(info) = Meminfo::current() else {
        return Memory::default();
    };
    Memory {
        system_kernel_stacks: info.kernel_stack,
        system_page_tables: info.page_tables,
        system_slab: info.s_unreclaim,
        ..Memory::default()
    }
}

fn of_one(pid: i32, processes: usize) -> ProcResult<Memory> {
    let process = Process::new(pid)?;
    let status = process.status()?;
    let maps = process.smaps_rollup()?.memory_map_rollup;
    let sizes = maps.into_iter().next().map(|map| map.extension.map);
    let size = |name: &str| sizes.as_ref()?.get(name).copied();
    // A child shares its parent's anonymous pages until one of them writes (Pss_Anon: Linux 5.4).
    let anonymous = if processes == 1 { "Anonymous" } else { "Pss_Anon" };
    let bytes = |kib: Option<u64>| kib?.checked_mul(1024);
    Ok(Memory {
        resident: size("Rss"),
        pss: size("Pss"),
        anonymous: size(anonymous),
        huge: size("AnonHugePages"),
        page_tables: bytes(status.vmpte),
        peak_resident: bytes(status.vmhwm),
        ..Memory::default()
    })
}

/// Number of pipes that these processes hold, and this one does not: its own are the other ends of
/// their standard streams, and what they inherited. A pipe that was used keeps one page, which no
/// counter shows.
fn pipes(pids: &[i32]) -> ProcResult<u64> {
    let own = std::process::id() as i32;
    let mut theirs = BTreeSet::new();
    for &pid in pids {
        theirs.append(&mut pipes_of(pid)?);
    }
    let own = if pids.contains(&own) { BTreeSet::new() } else { pipes_of(own)? };
    Ok(theirs.difference(&own).count() as u64)
}

/// Inodes of the pipes that a process holds besides its standard streams.
fn pipes_of(pid: i32) -> ProcResult<BTreeSet<u64>> {
    // One may be closed while the folder is read.
    let descriptors = Process::new(pid)?.fd()?.flatten().filter(|descriptor| descriptor.fd > 2);
    let inodes = descriptors.filter_map(|descriptor| match descriptor.target {
        FDTarget::Pipe(inode) => Some(inode),
        _ => None,
    });
    Ok(inodes.collect())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn kernel_memory_is_unknown_if_a_part_is() {
        let mut memory = Memory {
            system_kernel_stacks: Some(16),
            system_page_tables: Some(4),
            pipe_pages: Some(8),
            ..Memory::default()
        };
        assert_eq!(memory.kernel(), None);
        memory.system_slab = Some(100);
        assert_eq!(memory.kernel(), Some(128.0));
    }

    #[test]
    fn processes_add_up_and_one_that_has_ended_makes_the_sum_unknown() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let (own, other) = (std::process::id() as i32, child.id() as i32);
        let (one, both) = (of(&[own]), of(&[own, other]));
        assert!(one.resident.unwrap().min(one.peak_resident.unwrap()) > 100 << 10, "{one:?}");
        assert!(one.kernel().unwrap() > f64::from(100 << 10), "{one:?}");
        assert!(both.page_tables > one.page_tables, "{one:?} {both:?}");
        assert!(both.pss.is_some() && both.anonymous.is_some());
        drop(child.stdin.take());
        child.wait().unwrap();
        for gone in [of(&[own, other]), of(&[])] {
            assert_eq!((gone.resident, gone.pipe_pages), (None, None));
        }
    }

    #[test]
    fn a_pipe_with_two_ends_counts_once_and_standard_streams_do_not() {
        let inherited = nix::unistd::pipe().unwrap();
        let mut command = Command::new("cat");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let with_ours = pipes(&[child.id() as i32]).unwrap();
        drop(inherited);
        let alone = pipes(&[child.id() as i32]).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!((with_ours, alone), (0, 1));
    }
}
