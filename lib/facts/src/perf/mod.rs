//! Perf events (perf_event_open(2)) of a program that is already running.
//!
//! They are attached while the program waits, for a further `run` that nobody times: a counter is
//! switched on and off at each context switch, which makes a hop up to 20 times as expensive.

mod capacity;
mod event;
mod reason;

use std::collections::BTreeMap;
use std::{fs, io};

use crate::{Absent, Counters, Interference, Scope};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::Pid;
use perf_event::{Builder, Counter};
use procfs::process::Process;

use crate::interference;
use capacity::Capacity;
use event::{Event, events};
use reason::Reason;

/// Descriptors that stay free.
const RESERVE: u64 = 32;

/// Thread or CPU that a counter follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Thread(i32),
    Cpu(usize),
}

impl Target {
    fn build(self, part: &Builder<'static>) -> io::Result<Counter> {
        let mut builder = part.clone();
        match self {
            Target::Thread(id) => builder.observe_pid(id).any_cpu(),
            Target::Cpu(cpu) => builder.any_pid().one_cpu(cpu),
        };
        builder.inherit(false).build()
    }
}

/// An event that can be counted here, and the counters that it adds up.
struct EventSource {
    name: String,
    parts: Vec<Builder<'static>>,
}

/// Counters that are on.
pub struct Counting {
    scope: Scope,
    open: Vec<(String, Counter)>,
    absent: Vec<(String, Reason)>,
    before: Totals,
    pids: Vec<i32>,
}

/// Totals that the system keeps all the time.
struct Totals {
    interference: Interference,
    /// Calls that read and calls that write.
    calls: Option<(u64, u64)>,
}

/// Attaches counters to every thread of these processes, and switches them on. Where descriptors do
/// not suffice, or `wanted` says so, counts what runs on the CPUs that the first process may use;
/// otherwise as many events as there are descriptors for.
///
/// Threads that start later are not counted under [`Scope::Threads`]: a program that creates threads
/// in its iterations needs [`Scope::Cpus`].
pub fn attach(pids: &[i32], wanted: Option<Scope>) -> Counting {
    let threads: Vec<Target> = threads(pids).into_iter().map(Target::Thread).collect();
    let cpus: Vec<Target> = cpus(pids).into_iter().map(Target::Cpu).collect();
    let mut absent = Vec::new();
    let mut sources = Vec::new();
    for (name, event) in events() {
        match usable(event, threads.first()) {
            Ok(parts) => sources.push(EventSource { name, parts }),
            Err(why) => absent.push((name, why)),
        }
    }
    let capacity = Capacity {
        threads: match wanted {
            Some(Scope::Cpus) => 0,
            _ => threads.len(),
        },
        cpus: match wanted != Some(Scope::Threads) && may_count_cpus(&sources, &cpus) {
            true => cpus.len(),
            false => 0,
        },
        spare: spare_descriptors(),
    };
    let parts: Vec<usize> = sources.iter().map(|source| source.parts.len()).collect();
    let (scope, fit) = capacity.plan(&parts);
    let why = match wanted {
        Some(Scope::Cpus) => reason::by_cpu(),
        _ => capacity.reason(&parts),
    };
    absent.extend(sources.drain(fit..).map(|source| (source.name, why.clone())));
    let mut counting = Counting {
        scope,
        open: Vec::new(),
        absent,
        before: Totals::now(pids),
        pids: pids.to_owned(),
    };
    let targets = match scope {
        Scope::Threads => threads,
        Scope::Cpus => cpus,
    };
    for source in &sources {
        counting.open(source, &targets);
    }
    counting.each(|_, counter| counter.enable());
    counting
}

impl Counting {
    /// Opens one event for every target, or for none.
    fn open(&mut self, source: &EventSource, targets: &[Target]) {
        let already = self.open.len();
        for &target in targets {
            for part in &source.parts {
                match target.build(part) {
                    Ok(counter) => self.open.push((source.name.clone(), counter)),
                    // It has ended since it was listed.
                    Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(e) => {
                        self.open.truncate(already);
                        self.absent.push((source.name.clone(), reason::of(&e, false)));
                        return;
                    }
                }
            }
        }
        if self.open.len() == already {
            self.absent.push((source.name.clone(), reason::no_threads()));
        }
    }

    /// Does the same with each counter. An event of which one fails would be too low, and is left out.
    fn each(&mut self, mut call: impl FnMut(&str, &mut Counter) -> io::Result<()>) {
        let mut failed = Vec::new();
        for (name, counter) in &mut self.open {
            if let Err(e) = call(name, counter) {
                failed.push((name.clone(), reason::of(&e, false)));
            }
        }
        failed.dedup_by(|one, other| one.0 == other.0);
        self.open.retain(|(name, _)| failed.iter().all(|(other, _)| other != name));
        self.absent.extend(failed);
    }

    /// Switches the counters off and reads them. The caller adds the iterations, their time and the
    /// usage.
    pub fn finish(mut self) -> Counters {
        self.each(|_, counter| counter.disable());
        let after = Totals::now(&self.pids);
        let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
        self.each(|name, counter| {
            let data = counter.read_full()?;
            sums.entry(name.to_owned()).or_default().add(&data);
            Ok(())
        });
        sums.retain(|name, _| self.absent.iter().all(|(other, _)| other != name));
        let difference =
            |of: fn((u64, u64)) -> u64| of(after.calls?).checked_sub(of(self.before.calls?));
        let mut counters = Counters {
            interference: after.interference.since(self.before.interference),
            reads: difference(|calls| calls.0),
            writes: difference(|calls| calls.1),
            ..Counters::default()
        };
        for (name, sum) in sums {
            let Some((count, share)) = sum.scaled() else {
                self.absent.push((name, reason::never_on()));
                continue;
            };
            counters.events.insert(name, count);
            if share < 1.0 {
                counters.share = Some(counters.share.map_or(share, |least| least.min(share)));
            }
        }
        counters.scope = (!counters.events.is_empty()).then_some(self.scope);
        counters.absent = by_reason(self.absent);
        counters
    }
}

impl Totals {
    fn now(pids: &[i32]) -> Self {
        let calls = |&pid| {
            let io = Process::new(pid).ok()?.io().ok()?;
            Some((io.syscr, io.syscw))
        };
        let calls: Option<Vec<(u64, u64)>> = pids.iter().map(calls).collect();
        let sum = |calls: Vec<(u64, u64)>| {
            let (reads, writes): (Vec<u64>, Vec<u64>) = calls.into_iter().unzip();
            (reads.iter().sum(), writes.iter().sum())
        };
        Totals {
            interference: interference::totals(),
            calls: calls.filter(|calls| !calls.is_empty()).map(sum),
        }
    }
}

/// Counts of one event, and the times in which it was to be on and was on, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    enabled: u64,
    running: u64,
}

impl Sum {
    fn add(&mut self, data: &perf_event::CounterData) {
        let ns = |time: Option<std::time::Duration>| time.unwrap_or_default().as_nanos() as u64;
        self.count += data.count();
        self.enabled += ns(data.time_enabled());
        self.running += ns(data.time_running());
    }

    /// The count scaled to the whole time, and the share of it in which it was on; `None` where it
    /// never was.
    fn scaled(self) -> Option<(u64, f64)> {
        match (self.enabled, self.running) {
            // No thread has run.
            (0, _) => Some((self.count, 1.0)),
            (_, 0) => None,
            (enabled, running) if running >= enabled => Some((self.count, 1.0)),
            (enabled, running) => {
                let count = u128::from(self.count) * u128::from(enabled) / u128::from(running);
                let share = running as f64 / enabled as f64;
                Some((u64::try_from(count).ok()?, share))
            }
        }
    }
}

/// Counters for an event, if it can be counted for this thread.
fn usable(event: Event, thread: Option<&Target>) -> Result<Vec<Builder<'static>>, Reason> {
    let parts = event.parts()?;
    let thread = thread.ok_or_else(reason::no_threads)?;
    let is_hardware = matches!(event, Event::Hardware(..));
    for part in &parts {
        thread.build(part).map_err(|e| reason::of(&e, is_hardware))?;
    }
    Ok(parts)
}

/// Threads of all of these processes that are alive.
fn threads(pids: &[i32]) -> Vec<i32> {
    let tasks = |&pid: &i32| Process::new(pid).ok()?.tasks().ok();
    let tasks = pids.iter().filter_map(tasks).flatten();
    tasks.filter_map(|task| Some(task.ok()?.tid)).collect()
}

/// CPUs that the first process may use.
fn cpus(pids: &[i32]) -> Vec<usize> {
    let set = pids.first().and_then(|&pid| sched_getaffinity(Pid::from_raw(pid)).ok());
    let is_allowed = |cpu: &usize| set.is_some_and(|set| set.is_set(*cpu) == Ok(true));
    (0..CpuSet::count()).filter(is_allowed).collect()
}

fn may_count_cpus(sources: &[EventSource], cpus: &[Target]) -> bool {
    let part = sources.first().and_then(|source| source.parts.first());
    let tried = part.zip(cpus.first());
    tried.is_some_and(|(part, cpu)| cpu.build(part).is_ok())
}

/// Descriptors that this process may still open.
fn spare_descriptors() -> u64 {
    let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    soft.saturating_sub(open as u64 + RESERVE)
}

/// Events of one reason together.
fn by_reason(absent: Vec<(String, Reason)>) -> Vec<Absent> {
    let mut all: Vec<Absent> = Vec::new();
    for (name, why) in absent {
        let same = |one: &&mut Absent| one.reason == why.cause && one.remedy == why.remedy;
        match all.iter_mut().find(same) {
            Some(one) => one.events.push(name),
            None => all.push(Absent { events: vec![name], reason: why.cause, remedy: why.remedy }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_counter_that_was_off_at_times_is_scaled() {
        let sum = |count, enabled, running| Sum { count, enabled, running };
        assert_eq!(sum(10, 100, 100).scaled(), Some((10, 1.0)));
        assert_eq!(sum(10, 100, 25).scaled(), Some((40, 0.25)));
        assert_eq!(sum(0, 0, 0).scaled(), Some((0, 1.0)));
        assert_eq!(sum(0, 100, 0).scaled(), None);
        let large = sum(u64::MAX, u64::MAX, u64::MAX / 2);
        assert_eq!(large.scaled(), None);
    }

    /// Sends `lines` lines through a cat(1) that is counted.
    fn counted(lines: u8, scope: Option<Scope>) -> Counters {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut byte = [0; 2];
        // Once it has answered, it is cat and no longer on its way to exec.
        stdin.write_all(b"x\n").unwrap();
        stdout.read_exact(&mut byte).unwrap();
        let counting = attach(&[child.id() as i32], scope);
        for _ in 0..lines {
            stdin.write_all(b"x\n").unwrap();
            stdout.read_exact(&mut byte).unwrap();
        }
        let counters = counting.finish();
        drop(stdin);
        child.wait().unwrap();
        counters
    }

    #[test]
    fn another_process_is_counted_or_each_event_has_a_reason() {
        for scope in [None, Some(Scope::Threads), Some(Scope::Cpus)] {
            let counters = counted(50, scope);
            let absent: usize = counters.absent.iter().map(|one| one.events.len()).sum();
            assert_eq!(counters.events.len() + absent, events().len(), "{counters:?}");
            assert!(counters.absent.iter().all(|one| !one.reason.is_empty()));
            if let Some(&switches) = counters.events.get("context_switches") {
                assert!(switches > 0, "{counters:?}");
            }
            if let (Some(reads), Some(writes)) = (counters.reads, counters.writes) {
                assert!(reads >= 49 && writes >= 49, "{counters:?}");
            }
        }
    }

    #[test]
    fn a_process_that_has_ended_is_no_failure() {
        // Beyond the largest pid_max.
        let counters = attach(&[1 << 23], None).finish();
        assert!(counters.events.is_empty() && counters.scope.is_none());
        assert_eq!((counters.reads, counters.writes), (None, None));
    }
}
