//! Memory of processes, and of the kernel. Resident sizes come from `smaps_rollup`: VmRSS and statm
//! are approximate before Linux 6.16 (commit 82241a83cd15).

use std::collections::BTreeSet;
use std::fs;

use nix::unistd::{SysconfVar, sysconf};
use record::Memory;

use host::source::{Source, word_after};

/// Memory of all of these processes, and of the kernel. A figure that one of them does not give is absent.
pub fn of_processes(pids: &[i32]) -> Memory {
    let each: Option<Vec<Memory>> = pids.iter().map(|&pid| of_one(pid, pids.len())).collect();
    let each = each.unwrap_or_default();
    let pages = pipes(pids).filter(|_| !each.is_empty());
    Memory {
        resident: sum(&each, |memory| memory.resident),
        anonymous: sum(&each, |memory| memory.anonymous),
        huge: sum(&each, |memory| memory.huge),
        peak_resident: sum(&each, |memory| memory.peak_resident),
        peak_virtual: sum(&each, |memory| memory.peak_virtual),
        pipe_pages: pages.map(|pages| pages * page_size()),
        ..system()
    }
}

/// A part of all of them together; `None` if one lacks it, or there are none.
fn sum(each: &[Memory], part: fn(&Memory) -> Option<u64>) -> Option<u64> {
    let (first, rest) = each.split_first()?;
    rest.iter().try_fold(part(first)?, |sum, memory| Some(sum + part(memory)?))
}

/// Largest resident sets and largest address spaces that these processes had until now, each summed, in bytes.
pub fn peaks(pids: &[i32]) -> [Option<u64>; 2] {
    ["VmHWM:", "VmPeak:"]
        .map(|line| pids.iter().map(|pid| bytes(&file(*pid, "status")?, line)).sum())
}

/// Kernel memory of the whole system: what to subtract, if it is read before a program starts.
pub fn system() -> Memory {
    let info = Source::system().text("/proc/meminfo").unwrap_or_default();
    Memory {
        system_kernel_stacks: bytes(&info, "KernelStack:"),
        system_page_tables: bytes(&info, "PageTables:"),
        system_slab: bytes(&info, "SUnreclaim:"),
        ..Memory::default()
    }
}

/// A file of a process; `None` if it has ended, or is not ours.
fn file(pid: i32, name: &str) -> Option<String> {
    Source::system().text(&format!("/proc/{pid}/{name}"))
}

/// Bytes of a line that tells KiB.
fn bytes(text: &str, line: &str) -> Option<u64> {
    word_after::<u64>(text, line)?.checked_mul(1024)
}

fn page_size() -> u64 {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |size| size as u64)
}

fn of_one(pid: i32, processes: usize) -> Option<Memory> {
    let (status, maps) = (file(pid, "status")?, file(pid, "smaps_rollup")?);
    // A child shares its parent's pages until one of them writes (Pss_Anon: Linux 5.4).
    let (resident, anonymous) =
        if processes == 1 { ("Rss:", "Anonymous:") } else { ("Pss:", "Pss_Anon:") };
    Some(Memory {
        resident: bytes(&maps, resident),
        anonymous: bytes(&maps, anonymous),
        huge: bytes(&maps, "AnonHugePages:"),
        peak_resident: bytes(&status, "VmHWM:"),
        peak_virtual: bytes(&status, "VmPeak:"),
        ..Memory::default()
    })
}

/// Number of pipes that these processes hold, and this one does not: its own are the other ends of
/// their standard streams, and what they inherited.
fn pipes(pids: &[i32]) -> Option<u64> {
    let runner = std::process::id() as i32;
    let mut theirs = BTreeSet::new();
    for &pid in pids {
        theirs.append(&mut pipes_of(pid)?);
    }
    let runners = if pids.contains(&runner) { BTreeSet::new() } else { pipes_of(runner)? };
    Some(theirs.difference(&runners).count() as u64)
}

/// Pipes that a process holds besides its standard streams, as their links name them.
fn pipes_of(pid: i32) -> Option<BTreeSet<String>> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let others =
        descriptors.filter(|entry| !["0", "1", "2"].iter().any(|n| entry.file_name() == *n));
    // One may be closed while the folder is read.
    let targets = others
        .filter_map(|entry| fs::read_link(entry.path()).ok()?.into_os_string().into_string().ok());
    Some(targets.filter(|target| target.starts_with("pipe:")).collect())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A `cat` that has answered: until then it may be within execve(2), with no memory of its own.
    fn cat() -> (Child, i32) {
        let mut command = Command::new("cat");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"a").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let pid = child.id() as i32;
        (child, pid)
    }

    #[test]
    fn processes_add_up_and_one_that_has_ended_makes_the_sum_unknown() {
        let ((mut first, one), (mut second, other)) = (cat(), cat());
        let (alone, beside, both) =
            (of_processes(&[one]), of_processes(&[other]), of_processes(&[one, other]));
        assert!(alone.resident.unwrap().min(alone.peak_resident.unwrap()) > 100 << 10, "{alone:?}");
        assert!(alone.kernel().unwrap() > f64::from(100 << 10), "{alone:?}");
        let peaks = [alone, beside].map(|memory| memory.peak_resident.unwrap());
        assert_eq!(both.peak_resident, Some(peaks.iter().sum()));
        assert!(both.resident.is_some() && both.anonymous.is_some());
        drop(first.stdin.take());
        first.wait().unwrap();
        for gone in [of_processes(&[one, other]), of_processes(&[])] {
            assert_eq!((gone.resident, gone.pipe_pages), (None, None));
        }
        drop(second.stdin.take());
        second.wait().unwrap();
    }

    #[test]
    fn a_pipe_with_two_ends_counts_once_and_standard_streams_do_not() {
        let inherited = nix::unistd::pipe().unwrap();
        let (mut child, pid) = cat();
        let with_ours = pipes(&[pid]).unwrap();
        drop(inherited);
        let alone = pipes(&[pid]).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!((with_ours, alone), (0, 1));
    }
}
