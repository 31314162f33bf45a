//! Processes that somebody else runs, watched for a while through /proc: what their threads did.
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
use crate::{machine, memory, usage};

mod watched;

pub use watched::{Watched, ensure_watchable};

/// Time between two looks; more if a look takes longer than a twentieth of it.
const INTERVAL: Duration = Duration::from_millis(500);

/// Kernel stack of a thread on x86_64 and arm64, in bytes (THREAD_SIZE in arch/*/include/asm).
const KERNEL_STACK: u64 = 16 << 10;

/// Share of the busiest thread's CPU time from which another one is busy as well.
const BUSY: u64 = 10;

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
#[derive(Clone, Debug, Default, Serialize)]
pub struct Service {
    /// Name of the first process.
    pub name: String,
    /// Time that they were watched, in ns.
    pub elapsed_ns: u64,
    /// Threads by name, those that switch most first.
    pub groups: Vec<ThreadGroup>,
    /// Processes that were alive at the last look.
    pub pids: Vec<i32>,
    /// Their threads.
    pub threads: u64,
    /// Threads that used at least a tenth of the CPU time of the busiest.
    pub busy: u64,
    /// CPUs that they could have used: as many as threads were busy, within their affinity and their cpu.max.
    pub cpus: f64,
    /// CPU time of the processes, in ns.
    pub cpu_ns: u64,
    /// Resident memory at the last look, in bytes; `None` if they are not ours.
    pub resident: Option<u64>,
    /// Kernel stacks and page tables at the last look, in bytes.
    pub kernel: Option<u64>,
    /// Children that are alive and were not watched.
    pub children: Vec<Child>,
    /// Folder of the control group that the first process is in with its children, unless that is all in sight.
    pub group: Option<String>,
    /// True if they ended before the time was up.
    pub has_ended: bool,
}

/// A process that another one started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Child {
    /// Its number.
    pub pid: i32,
    /// Its name, as the kernel shortens it.
    pub name: String,
}

/// Counts of a thread since it began.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    voluntary: u64,
    involuntary: u64,
    cpu_ns: u64,
}

/// A thread: its name, its counts at the first look and at the last one, and the CPUs that it may run on.
#[derive(Clone, Debug, Default)]
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
#[derive(Clone, Copy, Debug, Default)]
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

/// Watches processes for so long, or until they have ended or `is_over` says so. `None` if nothing was seen twice.
pub fn watch(watched: &Watched, length: Duration, is_over: impl Fn() -> bool) -> Option<Service> {
    let mut book = Book::default();
    let begun = Instant::now();
    book.look(watched);
    for thread in book.threads.values_mut() {
        thread.first = thread.last;
    }
    for process in book.processes.values_mut() {
        process.first = process.last;
    }
    let main = *book.pids.first()?;
    let quota = machine::cpu_quota_of(main);
    // smaps_rollup holds a lock of the process while it counts: once before, and once after.
    let mut memory = memory::of(&book.pids);
    let mut elapsed = None;
    let mut interval = INTERVAL;
    while begun.elapsed() < length && !is_over() {
        thread::sleep(interval.min(length.saturating_sub(begun.elapsed())));
        let looked = Instant::now();
        if !book.look(watched) {
            break;
        }
        elapsed = Some(begun.elapsed());
        // Of many threads a look takes long: it must not become the load.
        interval = INTERVAL.max(looked.elapsed() * 20);
    }
    let elapsed = elapsed?;
    let has_ended = !Book::default().look(watched);
    if !has_ended {
        memory = memory::of(&book.pids);
    }
    let (busy, allowed) = book.busy();
    let cpu_ns = book.cpu_time(watched);
    let used = cpu_ns as f64 / elapsed.as_nanos() as f64;
    Some(Service {
        // It may have become another program meanwhile.
        name: book.threads.get(&main).map_or_else(String::new, |main| main.name.clone()),
        elapsed_ns: elapsed.as_nanos() as u64,
        threads: book.alive,
        busy,
        // Many threads that are hardly busy may use more than the busy ones could.
        cpus: quota.map_or(allowed, |quota| quota.min(allowed)).max(used),
        cpu_ns,
        resident: memory.resident,
        kernel: Some(book.alive * KERNEL_STACK + memory.page_tables.unwrap_or(0)),
        group: machine::group(main),
        children: book.unwatched(watched),
        has_ended,
        pids: book.pids,
        groups: groups(book.threads.into_values()),
    })
}

impl Book {
    /// Takes the counts of all processes and threads; false if none is alive.
    fn look(&mut self, watched: &Watched) -> bool {
        let (mut pids, mut alive) = (Vec::new(), 0);
        for pid in watched.pids().unwrap_or_default() {
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
    fn cpu_time(&self, watched: &Watched) -> u64 {
        let sum = |part: fn(&Times) -> u64| -> u64 {
            let since = |one: &Lived| part(&one.last).saturating_sub(part(&one.first));
            self.processes.values().map(since).sum()
        };
        let own = sum(|times| times.own);
        if let Watched::Processes(_) = watched {
            return own;
        }
        let ended = self.processes.iter().filter(|(pid, one)| {
            !self.pids.contains(pid) && self.processes.contains_key(&one.parent)
        });
        let twice: u64 = ended.map(|(_, one)| one.last.own + one.last.awaited).sum();
        own + sum(|times| times.awaited).saturating_sub(twice)
    }

    /// Threads that used at least a tenth of the CPU time of the busiest, and the CPUs that they may use; at least one.
    fn busy(&self) -> (u64, f64) {
        let most = self.threads.values().map(Seen::cpu_ns).max().unwrap_or(0);
        let is_busy = |seen: &&Seen| seen.cpu_ns() > 0 && seen.cpu_ns() >= most / BUSY;
        let busy: Vec<&Seen> = self.threads.values().filter(is_busy).collect();
        let may = |cpu: &usize| busy.iter().any(|seen| seen.cpus.is_set(*cpu).unwrap_or(false));
        let allowed = (0..CpuSet::count()).filter(may).count();
        (busy.len().max(1) as u64, allowed.min(busy.len()).max(1) as f64)
    }

    /// Children that are alive and not watched.
    fn unwatched(&self, watched: &Watched) -> Vec<Child> {
        let Watched::Processes(_) = watched else { return Vec::new() };
        let is_beside =
            |stat: &Stat| self.pids.contains(&stat.parent) && !self.pids.contains(&stat.pid);
        let beside = living().into_iter().filter(is_beside);
        beside.map(|stat| Child { pid: stat.pid, name: stat.name }).collect()
    }
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
