//! Processes that somebody else runs, with all that they start, watched for a while: what their threads did.
//!
//! The kernel forgets the switches of a thread when it ends. Once CPU time is missing, which tells that threads end, a
//! software counter of perf on each thread counts them, where perf_event_open(2) is allowed: the threads that it starts
//! inherit it. Other services are spared the counter, which makes each switch somewhat dearer.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use host::strays;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use record::busy_cpus;
use serde::Serialize;

use crate::counters::Switches;
use crate::usage::{threads, tick_ns};
use crate::{machine, usage};
use host::cgroup::ControlGroups;
use host::source::{Source, word_after};

/// Time between two looks; more if a look takes longer than a twentieth of it.
const INTERVAL: Duration = Duration::from_millis(500);

/// What threads did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Voluntary switches: the thread waited for something.
    pub voluntary: u64,
    /// Involuntary switches: the thread was preempted, or called sched_yield(2).
    pub involuntary: u64,
    /// CPU time, in ns.
    pub cpu_ns: u64,
    /// Time that the thread could have run but had no CPU, in ns.
    pub waited_ns: u64,
}

impl Counts {
    fn with(self, other: Counts, combine: fn(u64, u64) -> u64) -> Counts {
        Counts {
            voluntary: combine(self.voluntary, other.voluntary),
            involuntary: combine(self.involuntary, other.involuntary),
            cpu_ns: combine(self.cpu_ns, other.cpu_ns),
            waited_ns: combine(self.waited_ns, other.waited_ns),
        }
    }
}

/// What the threads of one name did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ThreadGroup {
    /// Name without its digits at the end.
    pub name: String,
    /// Threads that were ever seen.
    pub threads: u64,
    /// What they did, as far as they were seen.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Periods of a CPU quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Throttling {
    /// Periods during which something ran.
    pub periods: u64,
    /// Periods during which the quota stopped it.
    pub throttled: u64,
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
    pub processes: u64,
    /// CPUs that its threads may run on, within a quota.
    pub cpus: f64,
    /// CPU time of the processes, in ns.
    pub cpu_ns: u64,
    /// Switches of all threads by perf's counter, from a part of the time; `None` if nothing was missed without it, or
    /// it is not allowed.
    pub counted: Option<u64>,
    /// What a quota did; `None` without one.
    pub throttling: Option<Throttling>,
    /// True if they ended before the time was up.
    pub has_ended: bool,
}

impl Service {
    /// What all threads did that were seen.
    pub fn seen(&self) -> Counts {
        let counts = self.groups.iter().map(|group| group.counts);
        counts.fold(Counts::default(), |sum, counts| sum.with(counts, u64::saturating_add))
    }

    /// Threads that were seen.
    pub fn threads(&self) -> u64 {
        self.groups.iter().map(|group| group.threads).sum()
    }

    /// Switches of threads that ended between two looks: their kind is not known.
    pub fn unseen(&self) -> u64 {
        let Counts { voluntary, involuntary, .. } = self.seen();
        self.counted.unwrap_or(0).saturating_sub(voluntary + involuntary)
    }

    /// CPUs that were busy for so much CPU time of its threads, at most all of them: a quota may be exceeded for a
    /// while.
    pub fn busy(&self, cpu_ns: u64) -> f64 {
        busy_cpus(cpu_ns as f64, self.elapsed_ns as f64, Some(self.cpus)).unwrap_or(self.cpus)
    }

    /// CPUs in use.
    pub fn used(&self) -> f64 {
        self.busy(self.cpu_ns)
    }
}

/// A thread: its name, its counts at the first look and at the last one, and the CPUs that it may run on.
#[derive(Debug, Default)]
struct Thread {
    name: String,
    first: Counts,
    last: Counts,
    cpus: CpuSet,
}

/// A process: its parent, and its CPU time at the first and the last look, including children that it has awaited, in
/// ns.
#[derive(Debug, Default)]
struct Member {
    parent: i32,
    first: [u64; 2],
    last: [u64; 2],
}

/// All that was seen.
#[derive(Debug, Default)]
struct Book {
    threads: BTreeMap<i32, Thread>,
    processes: BTreeMap<i32, Member>,
    /// Processes of the last look that saw one.
    alive: Vec<i32>,
    /// Other processes at the first look: what it adopts of them did not begin meanwhile.
    others: BTreeSet<i32>,
}

/// The process with this id, or the process of the thread with this id.
///
/// # Errors
/// Says that it is not there, has ended, or is a thread of the kernel.
pub fn process_of(id: i32) -> Result<i32, String> {
    let status = Source::system().text(&format!("/proc/{id}/status")).unwrap_or_default();
    let process = word_after(&status, "Tgid:").unwrap_or(id);
    match strays::Process::with_pid(process) {
        None => Err(format!(
            "there is no process {id} here: it has ended, it is in another PID namespace, or /proc hides it (hidepid)"
        )),
        Some(process) if process.is_of_kernel => {
            Err(format!("{id} is a kernel thread: name a process"))
        }
        // If only its main thread has ended, the others go on.
        Some(_) if threads(process).iter().all(|thread| counts(process, *thread).is_none()) => {
            Err(format!("process {id} is a zombie: it has ended"))
        }
        Some(_) => Ok(process),
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
    let living = strays::processes().unwrap_or_default().into_iter().map(|process| process.pid);
    book.others = living.filter(|pid| !book.alive.contains(pid)).collect();
    let main = *book.alive.first()?;
    let quota = machine::cpu_quota_of(main);
    let throttled_before = throttling(main);
    let mut switches: Option<(Switches, Duration)> = None;
    let (mut name, mut counted) = (name_of(main), None);
    let (mut elapsed, mut has_ended, mut interval) = (None, false, INTERVAL);
    while !has_ended && begun.elapsed() < length && !is_over() {
        thread::sleep(interval.min(length.saturating_sub(begun.elapsed())));
        let looked = Instant::now();
        has_ended = !book.look(roots);
        if !has_ended {
            let now = begun.elapsed();
            elapsed = Some(now);
            if let Some((switches, from)) = &mut switches {
                let times = now.as_secs_f64() / (now - *from).as_secs_f64();
                counted = switches.total().map(|total| (total as f64 * times) as u64);
            } else if book.has_unseen() {
                let threads: Vec<i32> = book.threads.keys().copied().collect();
                switches = Switches::count(&threads).map(|switches| (switches, now));
            }
            // It may have become another program meanwhile.
            name = name_of(main).or(name);
            // Of many threads a look takes long: it must not become the load.
            interval = INTERVAL.max(looked.elapsed() * 20);
        }
    }
    let elapsed = elapsed?;
    let cpu_ns = book.cpu_time();
    Some(Service {
        name: name.unwrap_or_default(),
        elapsed_ns: elapsed.as_nanos() as u64,
        processes: book.processes.len() as u64,
        cpus: book.cpus().min(quota.unwrap_or(f64::INFINITY)),
        cpu_ns,
        counted,
        throttling: quota.map(|_| most_throttled(&throttled_before, &throttling(main))),
        has_ended,
        groups: groups(book.threads.into_values()),
    })
}

impl Book {
    /// Takes the counts of all processes and threads; false if none is alive.
    fn look(&mut self, roots: &[i32]) -> bool {
        let mut alive = Vec::new();
        for pid in family(roots) {
            let mut is_alive = false;
            for id in threads(pid) {
                let Some((name, last)) = counts(pid, id) else { continue };
                is_alive = true;
                let first = if self.others.contains(&pid) { last } else { Counts::default() };
                let entry = self.threads.entry(id).or_insert(Thread { first, ..Thread::default() });
                (entry.name, entry.last) = (name, last);
                entry.cpus = sched_getaffinity(Pid::from_raw(id)).unwrap_or(entry.cpus);
            }
            if is_alive {
                alive.push(pid);
                self.note(pid);
            }
        }
        if alive.is_empty() {
            return false;
        }
        self.alive = alive;
        true
    }

    /// Takes the CPU time of a process.
    fn note(&mut self, pid: i32) {
        let (own, process) = (usage::cpu_time(pid), strays::Process::with_pid(pid));
        let (Some(own), Some(process)) = (own, process) else { return };
        let awaited = process.awaited * tick_ns();
        let last = [own, awaited];
        let first = if self.others.contains(&pid) { last } else { [0; 2] };
        let entry = self.processes.entry(pid).or_insert(Member { first, ..Member::default() });
        (entry.parent, entry.last) = (process.parent, last);
    }

    /// CPU time, in ns. A process that came and went between two looks shows in the time that its parent awaited; of
    /// one that was seen, the parent has it again.
    fn cpu_time(&self) -> u64 {
        let [used, awaited] = [0, 1].map(|part| -> u64 {
            let processes = self.processes.values();
            processes.map(|process| process.last[part].saturating_sub(process.first[part])).sum()
        });
        let ended = self.processes.iter().filter(|(pid, one)| {
            !self.alive.contains(pid) && self.processes.contains_key(&one.parent)
        });
        let twice: u64 = ended.flat_map(|(_, one)| one.last).sum();
        used + awaited.saturating_sub(twice)
    }

    /// True if more than a hundredth of the CPU time went to threads that were not seen twice.
    fn has_unseen(&self) -> bool {
        let seen: u64 = self.threads.values().map(|thread| thread.did().cpu_ns).sum();
        seen < self.cpu_time() / 100 * 99
    }

    /// CPUs that any of its threads may run on.
    fn cpus(&self) -> f64 {
        let cpus = (0..CpuSet::count())
            .filter(|&cpu| self.threads.values().any(|thread| thread.cpus.is_set(cpu) == Ok(true)));
        cpus.count().max(1) as f64
    }
}

/// Processes and their descendants, each after its parent, without the caller.
fn family(roots: &[i32]) -> Vec<i32> {
    let mut living = strays::processes().unwrap_or_default();
    living.retain(|process| !process.is_zombie);
    let mut family = roots.to_vec();
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        let children = living.iter().filter(|process| process.parent == parent);
        let pids = children.map(|process| process.pid);
        let new: Vec<i32> = pids.filter(|pid| !family.contains(pid)).collect();
        family.extend(new);
        next += 1;
    }
    family.retain(|pid| *pid != std::process::id() as i32);
    family
}

/// Name of a process.
fn name_of(pid: i32) -> Option<String> {
    strays::Process::with_pid(pid).map(|process| process.name)
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
    // Time on a CPU, time in its queue (Documentation/scheduler/sched-stats.rst).
    let times = source.text(&format!("{folder}/schedstat")).unwrap_or_default();
    let mut times = times.split(' ').map(|word| word.parse().unwrap_or(0));
    let [cpu_ns, waited_ns] = [times.next().unwrap_or(0), times.next().unwrap_or(0)];
    Some((name, Counts { voluntary, involuntary, cpu_ns, waited_ns }))
}

/// Periods so far of each quota that holds for a process, by the folder of its group.
fn throttling(pid: i32) -> BTreeMap<String, Throttling> {
    let source = Source::system();
    let groups =
        ControlGroups::of_process(&source, &pid.to_string()).visible_groups(&source, "cpu");
    let folders = groups.map_or(Vec::new(), |groups| groups.folders).into_iter();
    let known = folders.filter_map(|folder| {
        let text = source.text(&format!("{folder}/cpu.stat"))?;
        let periods = word_after(&text, "nr_periods ")?;
        let throttled = word_after(&text, "nr_throttled ")?;
        Some((folder, Throttling { periods, throttled }))
    });
    known.collect()
}

/// What the quota did meanwhile that stopped the process most.
fn most_throttled(
    before: &BTreeMap<String, Throttling>,
    after: &BTreeMap<String, Throttling>,
) -> Throttling {
    let since = after.iter().filter_map(|(folder, now)| {
        let then = before.get(folder)?;
        Some(Throttling {
            periods: now.periods.saturating_sub(then.periods),
            throttled: now.throttled.saturating_sub(then.throttled),
        })
    });
    since.max_by_key(|quota| (quota.throttled, quota.periods)).unwrap_or_default()
}

impl Thread {
    fn did(&self) -> Counts {
        self.last.with(self.first, u64::saturating_sub)
    }
}

fn groups(threads: impl Iterator<Item = Thread>) -> Vec<ThreadGroup> {
    let mut groups: BTreeMap<String, ThreadGroup> = BTreeMap::new();
    for thread in threads {
        let name = thread.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let group = groups.entry(name.clone()).or_default();
        group.name = name;
        group.threads += 1;
        group.counts = group.counts.with(thread.did(), u64::saturating_add);
    }
    let mut groups: Vec<ThreadGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| {
        let Counts { voluntary, involuntary, cpu_ns, .. } = group.counts;
        std::cmp::Reverse((voluntary + involuntary, cpu_ns))
    });
    groups
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_cannot_be_watched_is_named() {
        let own = std::process::id() as i32;
        assert_eq!(process_of(own), Ok(own));
        // The thread of this test.
        assert_eq!(process_of(nix::unistd::gettid().as_raw()), Ok(own));
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        while !process_of(pid).is_err_and(|why| why.contains("zombie")) {
            thread::sleep(Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(process_of(pid).unwrap_err().contains("there is no process"));
        // In a container it is another one.
        if name_of(2).is_some_and(|name| name == "kthreadd") {
            assert!(process_of(2).unwrap_err().contains("kernel thread"));
        }
    }

    #[test]
    fn the_quota_that_stopped_it_most_counts() {
        let at = |own: u64, parent: u64| {
            let quota = |throttled| Throttling { periods: 2 * throttled, throttled };
            [("a/b", quota(own)), ("a", quota(parent))]
                .map(|(name, it)| (name.to_owned(), it))
                .into()
        };
        let expected = Throttling { periods: 180, throttled: 90 };
        assert_eq!(most_throttled(&at(5, 10), &at(6, 100)), expected);
        assert_eq!(most_throttled(&BTreeMap::new(), &at(1, 1)), Throttling::default());
    }
}
