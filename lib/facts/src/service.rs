//! Processes that somebody else runs, with all that they start, watched for a while through /proc: what their threads
//! did.
//!
//! Switches of a thread that begins and ends between two looks are lost; its CPU time is not, and tells how much was.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::Serialize;

use crate::source::{Source, word_after};
use crate::stat::{Stat, living, threads, tick_ns};
use crate::{machine, usage};

/// Time between two looks; more if a look takes longer than a twentieth of it.
const INTERVAL: Duration = Duration::from_millis(500);

/// Share of the busiest thread's CPU time from which another one is busy as well.
const BUSY: u64 = 10;

/// What the threads of one name did.
#[derive(Clone, Debug, Default, Serialize)]
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
#[derive(Clone, Debug, Default, Serialize)]
pub struct Service {
    /// Name of the first process.
    pub name: String,
    /// Time that they were watched, in ns.
    pub elapsed_ns: u64,
    /// Threads by name, those that switch most first.
    pub groups: Vec<ThreadGroup>,
    /// Processes that were alive at the last look.
    pub processes: usize,
    /// Their threads.
    pub threads: u64,
    /// CPUs that they could have used: as many as threads were busy, within their affinity and their cpu.max.
    pub cpus: f64,
    /// CPU time of the processes, in ns.
    pub cpu_ns: u64,
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

/// A thread: its name, its counts at the first look and at the last one, and the CPUs that it may run on.
#[derive(Debug, Default)]
struct Seen {
    name: String,
    first: Counts,
    last: Counts,
    cpus: CpuSet,
}

/// CPU time of a process, in ns: its own, and that of children which it has awaited.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    own: u64,
    awaited: u64,
}

/// A process: its parent, its times at the first look, and at the last one.
#[derive(Debug, Default)]
struct Lived {
    parent: i32,
    first: Times,
    last: Times,
}

/// All that was seen.
#[derive(Debug, Default)]
struct Book {
    threads: BTreeMap<i32, Seen>,
    processes: BTreeMap<i32, Lived>,
    /// Processes and threads of the last look that saw one.
    pids: Vec<i32>,
    alive: u64,
}

/// Makes sure that a process can be watched.
///
/// # Errors
/// Says that it is not there, has ended, or is a thread of the kernel.
pub fn ensure_watchable(pid: i32) -> Result<(), String> {
    match Stat::read(pid) {
        None => Err(format!(
            "there is no process {pid} here: it has ended, is in another pid namespace, or /proc hides it (hidepid)"
        )),
        Some(stat) if matches!(stat.state, 'Z' | 'X') => {
            Err(format!("process {pid} is a zombie: it has ended"))
        }
        Some(stat) if stat.is_of_kernel => Err(format!("{pid} is a thread of the kernel")),
        Some(_) => Ok(()),
    }
}

/// Watches processes and all that they start for so long, or until they have ended or `is_over` says so; the caller is
/// none of them. `None` if nothing was seen twice.
pub fn watch(roots: &[i32], length: Duration, is_over: impl Fn() -> bool) -> Option<Service> {
    let mut book = Book::default();
    let begun = Instant::now();
    book.look(roots);
    book.threads.values_mut().for_each(|thread| thread.first = thread.last);
    book.processes.values_mut().for_each(|process| process.first = process.last);
    let main = *book.pids.first()?;
    let quota = machine::cpu_quota_of(main).unwrap_or(f64::INFINITY);
    let (mut elapsed, mut has_ended, mut interval) = (None, false, INTERVAL);
    while !has_ended && begun.elapsed() < length && !is_over() {
        thread::sleep(interval.min(length.saturating_sub(begun.elapsed())));
        let looked = Instant::now();
        has_ended = !book.look(roots);
        if !has_ended {
            elapsed = Some(begun.elapsed());
            // Of many threads a look takes long: it must not become the load.
            interval = INTERVAL.max(looked.elapsed() * 20);
        }
    }
    let elapsed = elapsed?;
    let cpu_ns = book.cpu_time();
    let used = cpu_ns as f64 / elapsed.as_nanos() as f64;
    Some(Service {
        // It may have become another program meanwhile.
        name: book.threads.get(&main).map_or_else(String::new, |main| main.name.clone()),
        elapsed_ns: elapsed.as_nanos() as u64,
        processes: book.pids.len(),
        threads: book.alive,
        // Many threads that are hardly busy may use more than the busy ones could.
        cpus: book.cpus().min(quota).max(used),
        cpu_ns,
        has_ended,
        groups: groups(book.threads.into_values()),
    })
}

impl Book {
    /// Takes the counts of all processes and threads; false if none is alive.
    fn look(&mut self, roots: &[i32]) -> bool {
        let (mut pids, mut alive) = (Vec::new(), 0);
        for pid in family(roots) {
            let before = alive;
            for id in threads(pid) {
                let Some((name, last)) = counts(pid, id) else { continue };
                alive += 1;
                let entry = self.threads.entry(id).or_default();
                (entry.name, entry.last) = (name, last);
                entry.cpus = sched_getaffinity(Pid::from_raw(id)).unwrap_or(entry.cpus);
            }
            if alive > before {
                pids.push(pid);
                self.note(pid);
            }
        }
        if alive > 0 {
            (self.pids, self.alive) = (pids, alive);
        }
        alive > 0
    }

    /// Takes the CPU time of a process.
    fn note(&mut self, pid: i32) {
        let (Some(own), Some(stat)) = (usage::cpu_time(pid), Stat::read(pid)) else { return };
        let awaited = stat.awaited * tick_ns();
        let entry = self.processes.entry(pid).or_default();
        (entry.parent, entry.last) = (stat.parent, Times { own, awaited });
    }

    /// CPU time, in ns. A process that came and went between two looks shows in the time that its parent awaited; of
    /// one that was seen, the parent has it again.
    fn cpu_time(&self) -> u64 {
        let sum = |part: fn(&Times) -> u64| -> u64 {
            let since = |one: &Lived| part(&one.last).saturating_sub(part(&one.first));
            self.processes.values().map(since).sum()
        };
        let ended = self.processes.iter().filter(|(pid, one)| {
            !self.pids.contains(pid) && self.processes.contains_key(&one.parent)
        });
        let twice: u64 = ended.map(|(_, one)| one.last.own + one.last.awaited).sum();
        sum(|times| times.own) + sum(|times| times.awaited).saturating_sub(twice)
    }

    /// CPUs that its busy threads may use, one for each at most: those that used at least a tenth of the CPU time of
    /// the busiest.
    fn cpus(&self) -> f64 {
        let most = self.threads.values().map(Seen::cpu_ns).max().unwrap_or(0);
        let is_busy = |seen: &&Seen| seen.cpu_ns() > 0 && seen.cpu_ns() >= most / BUSY;
        let busy: Vec<&Seen> = self.threads.values().filter(is_busy).collect();
        let may = |cpu: &usize| busy.iter().any(|seen| seen.cpus.is_set(*cpu).unwrap_or(false));
        let allowed = (0..CpuSet::count()).filter(may).count();
        allowed.min(busy.len()).max(1) as f64
    }
}

/// Processes and their descendants, each after its parent, without the caller.
fn family(roots: &[i32]) -> Vec<i32> {
    let all = living();
    let mut found = roots.to_vec();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        let children = all.iter().filter(|stat| stat.parent == parent).map(|stat| stat.pid);
        let new: Vec<i32> = children.filter(|pid| !found.contains(pid)).collect();
        found.extend(new);
        next += 1;
    }
    found.retain(|pid| *pid != std::process::id() as i32);
    found
}

/// Name and counts of a thread; `None` if it has ended.
fn counts(pid: i32, thread: i32) -> Option<(String, Counts)> {
    let (source, folder) = (Source::system(), format!("/proc/{pid}/task/{thread}"));
    let status = source.text(&format!("{folder}/status"))?;
    if word_after::<char>(&status, "State:").is_some_and(|state| "ZX".contains(state)) {
        return None;
    }
    let name = status.lines().next()?.strip_prefix("Name:")?.trim().to_owned();
    let (voluntary, involuntary) = usage::switches(&status)?;
    let ran = source.text(&format!("{folder}/schedstat"));
    let cpu_ns = ran.and_then(|text| word_after(&text, "")).unwrap_or(0);
    Some((name, Counts { voluntary, involuntary, cpu_ns }))
}

impl Seen {
    /// CPU time since the first look, in ns.
    fn cpu_ns(&self) -> u64 {
        self.last.cpu_ns.saturating_sub(self.first.cpu_ns)
    }
}

fn groups(threads: impl Iterator<Item = Seen>) -> Vec<ThreadGroup> {
    let mut groups: BTreeMap<String, ThreadGroup> = BTreeMap::new();
    for thread in threads {
        let Seen { first, last, .. } = &thread;
        let name = thread.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let group = groups.entry(name.clone()).or_default();
        group.name = name;
        group.threads += 1;
        group.voluntary += last.voluntary.saturating_sub(first.voluntary);
        group.involuntary += last.involuntary.saturating_sub(first.involuntary);
        group.cpu_ns += thread.cpu_ns();
    }
    let mut groups: Vec<ThreadGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse((group.voluntary, group.cpu_ns)));
    groups
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_cannot_be_watched_is_named() {
        assert!(ensure_watchable(std::process::id() as i32).is_ok());
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        while !ensure_watchable(pid).is_err_and(|why| why.contains("zombie")) {
            thread::sleep(Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(ensure_watchable(pid).unwrap_err().contains("there is no process"));
        // In a container it is another one.
        if Source::system().text("/proc/2/comm").is_some_and(|name| name == "kthreadd\n") {
            assert!(ensure_watchable(2).unwrap_err().contains("thread of the kernel"));
        }
    }
}
