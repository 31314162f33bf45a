//! A process that somebody else runs, watched for a while through /proc: what its threads did.
//!
//! Switches and CPU time of a thread that ends between two looks are lost up to the last look at it; the CPU time of
//! the whole process is not.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use procfs::process::{Process, Task};
use serde::Serialize;

use crate::{memory, usage};

/// Time between two looks; more if a look takes longer than a twentieth of it.
const INTERVAL: Duration = Duration::from_millis(500);

/// Kernel stack of a thread on x86_64 and arm64, in bytes (THREAD_SIZE in arch/*/include/asm).
const KERNEL_STACK: u64 = 16 << 10;

/// What the threads of one name did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadGroup {
    /// Name without its digits at the end.
    pub name: String,
    /// Threads that were ever seen.
    pub threads: u64,
    /// Voluntary switches: the thread waited.
    pub voluntary: u64,
    /// Involuntary switches: the thread was preempted.
    pub involuntary: u64,
    /// CPU time, in ns.
    pub cpu_ns: u64,
}

/// What some processes did in a while.
#[derive(Clone, Debug, Serialize)]
pub struct Service {
    /// Name of the first process.
    pub name: String,
    /// Time that they were watched, in ns.
    pub elapsed_ns: u64,
    /// Threads by name, those that switch most first.
    pub groups: Vec<ThreadGroup>,
    /// Threads that were alive at the last look.
    pub threads: u64,
    /// CPU time of the processes, in ns.
    pub cpu_ns: u64,
    /// Resident memory at the last look, in bytes; `None` if they are not ours.
    pub resident: Option<u64>,
    /// Kernel stacks and page tables at the last look, in bytes.
    pub kernel: Option<u64>,
    /// True if they ended before the time was up.
    pub has_ended: bool,
}

/// Counts of a thread since it began.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    voluntary: u64,
    involuntary: u64,
    cpu_ns: u64,
}

/// A thread: its name, its counts at the first look, and at the last one.
type Seen = (String, Counts, Counts);

/// Makes sure that a process can be watched.
///
/// # Errors
/// Says that it is not there, is a zombie, or is a thread of the kernel.
pub fn ensure_watchable(pid: i32) -> Result<(), String> {
    let gone = || {
        format!(
            "there is no process {pid} here: it has ended, is in another pid namespace, or /proc hides it (hidepid)"
        )
    };
    let stat = Process::new(pid).and_then(|process| process.stat()).map_err(|_| gone())?;
    if matches!(stat.state, 'Z' | 'X') {
        return Err(format!("process {pid} ({}) is a zombie: it has ended", stat.comm));
    }
    // PF_KTHREAD of include/linux/sched.h.
    if stat.flags & 0x0020_0000 != 0 {
        return Err(format!("{pid} ({}) is a thread of the kernel", stat.comm));
    }
    Ok(())
}

/// Processes of a control group, by its folder.
///
/// # Errors
/// When its `cgroup.procs` cannot be read.
pub fn of_group(folder: &std::path::Path) -> io::Result<Vec<i32>> {
    let text = fs::read_to_string(folder.join("cgroup.procs"))?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Watches processes for so long, or until they have ended or `is_over` says so. `None` if nothing was seen twice.
pub fn watch(pids: &[i32], length: Duration, is_over: impl Fn() -> bool) -> Option<Service> {
    let cpu_time = || -> u64 { pids.iter().filter_map(|&pid| usage::cpu_time(pid)).sum() };
    let mut seen: BTreeMap<i32, Seen> = BTreeMap::new();
    let begun = Instant::now();
    let first_cpu = cpu_time();
    look(pids, &mut seen);
    for (_, first, last) in seen.values_mut() {
        *first = *last;
    }
    let first = *pids.first()?;
    // smaps_rollup holds a lock of the process while it counts: once before, and once after.
    let mut memory = memory::of(pids);
    let mut service = None;
    let mut interval = INTERVAL;
    while begun.elapsed() < length && !is_over() {
        thread::sleep(interval.min(length.saturating_sub(begun.elapsed())));
        let looked = Instant::now();
        let threads = look(pids, &mut seen);
        if threads == 0 {
            break;
        }
        service = Some((begun.elapsed(), cpu_time().saturating_sub(first_cpu), threads));
        // Of many threads a look takes long: it must not become the load.
        interval = INTERVAL.max(looked.elapsed() * 20);
    }
    let (elapsed, cpu_ns, threads) = service?;
    let has_ended = look(pids, &mut BTreeMap::new()) == 0;
    if !has_ended {
        memory = memory::of(pids);
    }
    let page_tables = memory.page_tables.unwrap_or(0);
    Some(Service {
        // It may have become another program meanwhile.
        name: seen.get(&first).map_or_else(String::new, |(name, ..)| name.clone()),
        elapsed_ns: elapsed.as_nanos() as u64,
        groups: groups(seen.into_values()),
        threads,
        cpu_ns,
        resident: memory.resident,
        kernel: Some(threads * KERNEL_STACK + page_tables),
        has_ended,
    })
}

/// Takes the counts of all threads; how many there are.
fn look(pids: &[i32], seen: &mut BTreeMap<i32, Seen>) -> u64 {
    let mut alive = 0;
    for &pid in pids {
        let Ok(process) = Process::new(pid) else { continue };
        let tasks = process.tasks().into_iter().flatten().flatten();
        for task in tasks {
            let Some((name, counts)) = counts(&task) else { continue };
            alive += 1;
            let entry = seen.entry(task.tid).or_default();
            (entry.0, entry.2) = (name, counts);
        }
    }
    alive
}

fn counts(task: &Task) -> Option<(String, Counts)> {
    let status = task.status().ok()?;
    if status.state.starts_with(['Z', 'X']) {
        return None;
    }
    let counts = Counts {
        voluntary: status.voluntary_ctxt_switches?,
        involuntary: status.nonvoluntary_ctxt_switches?,
        cpu_ns: task.schedstat().map_or(0, |schedstat| schedstat.sum_exec_runtime),
    };
    Some((status.name, counts))
}

fn groups(threads: impl Iterator<Item = Seen>) -> Vec<ThreadGroup> {
    let mut groups: BTreeMap<String, ThreadGroup> = BTreeMap::new();
    for (name, first, last) in threads {
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let group = groups.entry(name.clone()).or_default();
        group.name = name;
        group.threads += 1;
        group.voluntary += last.voluntary.saturating_sub(first.voluntary);
        group.involuntary += last.involuntary.saturating_sub(first.involuntary);
        group.cpu_ns += last.cpu_ns.saturating_sub(first.cpu_ns);
    }
    let mut groups: Vec<ThreadGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse((group.voluntary, group.cpu_ns)));
    groups
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn threads_of_a_process_are_grouped_by_name_and_counted() {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let threads: Vec<_> = (0..3)
            .map(|k| {
                let stop = std::sync::Arc::clone(&stop);
                let body = move || {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    }
                };
                thread::Builder::new().name(format!("sleeper-{k}")).spawn(body).unwrap()
            })
            .collect();
        let own = std::process::id() as i32;
        let service = watch(&[own], Duration::from_millis(1200), || false).unwrap();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let group = service.groups.iter().find(|group| group.name == "sleeper-").unwrap();
        assert_eq!(group.threads, 3);
        assert!(group.voluntary > 10, "{group:?}");
        assert!(service.threads >= 4 && !service.has_ended, "{service:?}");
        assert!(service.resident > Some(0));
    }

    #[test]
    fn what_cannot_be_watched_is_named() {
        assert!(ensure_watchable(std::process::id() as i32).is_ok());
        let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
        let pid = child.id() as i32;
        while !ensure_watchable(pid).is_err_and(|why| why.contains("zombie")) {
            thread::sleep(Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(ensure_watchable(pid).unwrap_err().contains("there is no process"));
        if Process::new(2)
            .and_then(|process| process.stat())
            .is_ok_and(|stat| stat.comm == "kthreadd")
        {
            assert!(ensure_watchable(2).unwrap_err().contains("thread of the kernel"));
        }
    }
}
