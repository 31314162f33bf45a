//! Memory of processes, and of the kernel.
//!
//! Resident sizes come from `smaps_rollup`. The counters behind VmRSS and statm lag: each thread keeps
//! its own until it has 64 pages to add (Documentation/filesystems/proc.rst).

use std::collections::BTreeSet;

use procfs::process::{FDTarget, Process};
use procfs::{Current, Meminfo, ProcResult};
use record::Memory;

/// Memory of all of these processes together, and of the kernel. A figure that one of them does not
/// give is absent.
pub fn of(pids: &[i32]) -> Memory {
    let each: Option<Vec<Memory>> = pids
        .iter()
        .map(|&pid| of_one(pid, pids.len()).ok())
        .collect();
    // Without processes the sums are unknown, not 0.
    let each = each.unwrap_or_default();
    let sum = |part: fn(&Memory) -> Option<u64>| {
        let first = each.first().and_then(part)?;
        each[1..]
            .iter()
            .try_fold(first, |all, one| Some(all + part(one)?))
    };
    Memory {
        resident: sum(|memory| memory.resident),
        pss: sum(|memory| memory.pss),
        anonymous: sum(|memory| memory.anonymous),
        huge: sum(|memory| memory.huge),
        page_tables: sum(|memory| memory.page_tables),
        peak_resident: sum(|memory| memory.peak_resident),
        pipe_pages: pipes(pids)
            .ok()
            .filter(|_| !each.is_empty())
            .map(|pipes| pipes * procfs::page_size()),
        ..system()
    }
}

/// Kernel memory of the whole system: what to subtract, where it is read before a program starts.
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
    let anonymous = match processes {
        1 => "Anonymous",
        _ => "Pss_Anon",
    };
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

/// Number of pipes that these processes hold. A pipe that was used keeps one page, which no counter
/// shows. Standard input, output and error are the runner's.
fn pipes(pids: &[i32]) -> ProcResult<u64> {
    let mut inodes = BTreeSet::new();
    for &pid in pids {
        for descriptor in Process::new(pid)?.fd()? {
            // One may be closed while the folder is read.
            let Ok(descriptor) = descriptor else { continue };
            if let FDTarget::Pipe(inode) = descriptor.target
                && descriptor.fd > 2
            {
                inodes.insert(inode);
            }
        }
    }
    Ok(inodes.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn this_process_and_the_kernel_have_memory() {
        let own = std::process::id() as i32;
        let memory = of(&[own]);
        let resident = memory.resident.unwrap();
        assert!(resident > 100 << 10, "{memory:?}");
        assert!(memory.peak_resident.unwrap() > 100 << 10, "{memory:?}");
        assert!(memory.page_tables.unwrap() > 0 && memory.page_tables.unwrap() < 1 << 30);
        assert!(
            memory.kernel().unwrap() > f64::from(100 << 10),
            "{memory:?}"
        );
        assert_eq!(system().resident, None);
        assert_eq!(of(&[]).resident, None);
        assert_eq!(of(&[]).pipe_pages, None);
    }

    #[test]
    fn processes_add_up_and_one_that_has_ended_makes_the_sum_unknown() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let (own, other) = (std::process::id() as i32, child.id() as i32);
        let (one, both) = (of(&[own]), of(&[own, other]));
        assert!(both.page_tables > one.page_tables, "{one:?} {both:?}");
        assert!(both.pss.is_some() && both.anonymous.is_some());
        drop(child.stdin.take());
        child.wait().unwrap();
        let gone = of(&[own, other]);
        assert_eq!((gone.resident, gone.pipe_pages), (None, None));
    }

    #[test]
    fn a_pipe_counts_once_and_the_standard_streams_do_not() {
        // The shell has pipes as standard input and output, and one more with both of its ends.
        let script = "exec 8<&0; read x";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id() as i32;
        let seen = |count| {
            let begun = std::time::Instant::now();
            while pipes(&[pid]).unwrap() != count {
                assert!(begun.elapsed().as_secs() < 20, "{:?}", pipes(&[pid]));
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        };
        seen(1);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
