//! Perf events (perf_event_open(2)).
//!
//! They are opened for each thread that there is, and inherited by those that it creates: counters
//! that are only inherited would have to be there before the threads, in the timed pass.

mod event;
mod room;

use std::fs;
use std::io;

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{Pid, gettid};
use perf_event::{Builder, Counter};

use super::reason::{self, Obstacle};
use super::{Absent, Outcome, Scope, Tasks};
use event::{EVENTS, Event};
use room::Room;

/// Descriptors that are left for everything else.
const RESERVE: u64 = 32;

/// Whom a counter follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Thread(Pid),
    Cpu(usize),
}

/// An event that can be counted here: its name, and a builder for each part that it adds up.
struct Source {
    name: &'static str,
    parts: Vec<Builder<'static>>,
}

/// One open counter.
struct Open {
    name: &'static str,
    target: Target,
    counter: Counter,
}

/// The counters that are open.
pub(super) struct Events {
    scope: Option<Scope>,
    /// By thread, or CPU, and within it in the order of [`EVENTS`].
    open: Vec<Open>,
    absent: Vec<(&'static str, String)>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("scope", &self.scope)
            .field("open", &self.open.len())
            .field("absent", &self.absent)
            .finish()
    }
}

impl Events {
    /// Opens all that may be opened, for each thread. Where there are more of them than descriptors,
    /// for each CPU, if that is allowed, and else as many events as there are descriptors for. They
    /// do not count yet.
    pub(super) fn open(tasks: &Tasks) -> Self {
        let (mut sources, mut absent) = usable();
        let threads: Vec<Target> = tasks.threads().into_iter().map(Target::Thread).collect();
        let room = Room {
            threads: threads.len(),
            cpus: match may_count_cpus(&sources, &tasks.cpus) {
                true => tasks.cpus.len(),
                false => 0,
            },
            spare: spare_descriptors(),
        };
        let parts: Vec<usize> = sources.iter().map(|source| source.parts.len()).collect();
        let (scope, fit) = room.plan(&parts);
        let reason = room.reason(&parts);
        absent.extend(sources.drain(fit..).map(|s| (s.name, reason.clone())));
        let targets = match scope {
            Scope::Threads => threads,
            Scope::Cpus => tasks.cpus.iter().copied().map(Target::Cpu).collect(),
        };
        let mut events = Events {
            scope: Some(scope),
            open: Vec::new(),
            absent,
        };
        for source in sources {
            events.add(&source, &targets);
        }
        events.order();
        events
    }

    /// Opens one event for every target, or for none.
    fn add(&mut self, source: &Source, targets: &[Target]) {
        let already = self.open.len();
        for &target in targets {
            for part in &source.parts {
                match target.build(part) {
                    Ok(counter) => self.open.push(Open {
                        name: source.name,
                        target,
                        counter,
                    }),
                    // It has ended since it was listed.
                    Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(e) => {
                        self.open.truncate(already);
                        let obstacle = Obstacle::of(&e);
                        self.absent.push((source.name, obstacle.reason(false)));
                        return;
                    }
                }
            }
        }
    }

    /// The calling thread's counters last.
    fn order(&mut self) {
        let own = Target::Thread(gettid());
        self.open.sort_by_key(|open| open.target == own);
    }

    /// Lets them count, the calling thread's last.
    pub(super) fn enable(&mut self) {
        self.order();
        let mut failed = Vec::new();
        for open in &mut self.open {
            if let Err(e) = open.counter.enable() {
                failed.push((open.name, Obstacle::of(&e).reason(false)));
            }
        }
        self.leave_out(failed);
    }

    /// Stops the counters of the calling thread, backwards, so that reading the others is not
    /// counted; and those of the CPUs, where all of them would.
    pub(super) fn disable(&mut self) {
        let own = Target::Thread(gettid());
        let counted =
            |open: &&mut Open| open.target == own || matches!(open.target, Target::Cpu(_));
        let mut failed = Vec::new();
        for open in self.open.iter_mut().rev().filter(counted) {
            if let Err(e) = open.counter.disable() {
                failed.push((open.name, Obstacle::of(&e).reason(false)));
            }
        }
        self.leave_out(failed);
    }

    /// An event without some of its counters would be a figure that is too low.
    fn leave_out(&mut self, failed: Vec<(&'static str, String)>) {
        self.open
            .retain(|open| failed.iter().all(|(name, _)| *name != open.name));
        for (name, reason) in failed {
            if self.absent.iter().all(|(other, _)| *other != name) {
                self.absent.push((name, reason));
            }
        }
    }

    /// What they have counted.
    pub(super) fn read(mut self) -> Outcome {
        let mut sums: Vec<(&'static str, Sum)> = Vec::new();
        let mut failed = Vec::new();
        for open in &mut self.open {
            match open.counter.read_full() {
                Ok(data) => {
                    let sum = match sums.iter_mut().find(|(name, _)| *name == open.name) {
                        Some((_, sum)) => sum,
                        None => {
                            sums.push((open.name, Sum::default()));
                            &mut sums.last_mut().expect("one was just pushed").1
                        }
                    };
                    sum.add(&data);
                }
                Err(e) => failed.push((open.name, Obstacle::of(&e).reason(false))),
            }
        }
        self.leave_out(failed);
        let mut outcome = Outcome {
            scope: self.scope,
            ..Outcome::default()
        };
        for (name, sum) in sums {
            let is_whole = self.absent.iter().all(|(other, _)| *other != name);
            match sum.scaled() {
                Some((count, share)) if is_whole => {
                    outcome.events.insert(name.to_owned(), count);
                    if share < 1.0 {
                        let least = outcome.share.map_or(share, |least| least.min(share));
                        outcome.share = Some(least);
                    }
                }
                Some(_) => {}
                None => self.absent.push((name, reason::NO_TURN.to_owned())),
            }
        }
        outcome.absent = by_reason(&self.absent);
        outcome
    }
}

/// Counts of one event, and the times that they took turns in, in ns.
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

    /// The count drawn out to the whole time, and the share of it for which it was counted. `None`
    /// where it never was.
    fn scaled(self) -> Option<(u64, f64)> {
        match (self.enabled, self.running) {
            // No thread has run meanwhile.
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

impl Target {
    fn build(self, part: &Builder<'static>) -> io::Result<Counter> {
        let mut builder = part.clone();
        match self {
            Target::Thread(id) => builder.observe_pid(id.as_raw()).any_cpu().inherit(true),
            Target::Cpu(cpu) => builder.any_pid().one_cpu(cpu),
        };
        builder.build()
    }
}

/// The events that this thread may count for itself, and why it may not count the others.
fn usable() -> (Vec<Source>, Vec<(&'static str, String)>) {
    let (mut sources, mut absent) = (Vec::new(), Vec::new());
    for (name, event) in EVENTS {
        let tried = event.parts().and_then(|parts| {
            let own = Target::Thread(gettid());
            let is_hardware = matches!(event, Event::Hardware(..));
            for part in &parts {
                own.build(part)
                    .map_err(|e| Obstacle::of(&e).reason(is_hardware))?;
            }
            Ok(parts)
        });
        match tried {
            Ok(parts) => sources.push(Source { name, parts }),
            Err(reason) => absent.push((name, reason)),
        }
    }
    (sources, absent)
}

/// How many descriptors this process may still open. A few stay free.
fn spare_descriptors() -> u64 {
    let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    soft.saturating_sub(open as u64 + RESERVE)
}

/// Whether whatever runs on a CPU may be counted.
fn may_count_cpus(sources: &[Source], cpus: &[usize]) -> bool {
    let part = sources.first().and_then(|source| source.parts.first());
    let tried = part.zip(cpus.first());
    tried.is_some_and(|(part, &cpu)| Target::Cpu(cpu).build(part).is_ok())
}

/// Events of one reason together, both in the order in which they came.
fn by_reason(absent: &[(&'static str, String)]) -> Vec<Absent> {
    let mut all: Vec<Absent> = Vec::new();
    for (name, reason) in absent {
        match all.iter_mut().find(|one| one.reason == *reason) {
            Some(one) => one.events.push((*name).to_owned()),
            None => all.push(Absent {
                events: vec![(*name).to_owned()],
                reason: reason.clone(),
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_took_turns_is_drawn_out() {
        let sum = |count, enabled, running| Sum {
            count,
            enabled,
            running,
        };
        assert_eq!(sum(10, 100, 100).scaled(), Some((10, 1.0)));
        assert_eq!(sum(10, 100, 25).scaled(), Some((40, 0.25)));
        assert_eq!(sum(0, 0, 0).scaled(), Some((0, 1.0)));
        assert_eq!(sum(0, 100, 0).scaled(), None);
        let large = sum(u64::MAX, u64::MAX, u64::MAX / 2);
        assert_eq!(large.scaled(), None, "a count past 64 bits is unknown");
    }

    #[test]
    fn events_of_one_reason_stand_together() {
        let absent = [("a", "x"), ("b", "y"), ("c", "x")].map(|(e, r)| (e, r.to_owned()));
        let grouped = by_reason(&absent);
        assert_eq!(grouped.len(), 2);
        assert_eq!(
            (grouped[0].events.join(" "), grouped[0].reason.as_str()),
            ("a c".to_owned(), "x")
        );
    }

    #[test]
    fn a_thread_that_has_ended_is_no_obstacle() {
        let (sources, _) = usable();
        let Some(source) = sources.into_iter().next() else {
            return;
        };
        let mut events = Events {
            scope: None,
            open: Vec::new(),
            absent: Vec::new(),
        };
        // Beyond the largest pid_max.
        let gone = Target::Thread(Pid::from_raw(1 << 23));
        events.add(&source, &[gone, Target::Thread(gettid())]);
        assert_eq!((events.open.len(), events.absent.len()), (1, 0));
    }

    #[test]
    fn an_event_that_lost_a_counter_is_left_out() {
        let mut events = Events::open(&Tasks::default());
        let had = events.open.len();
        let Some(name) = events.open.first().map(|open| open.name) else {
            return;
        };
        events.leave_out(vec![
            (name, "because".to_owned()),
            (name, "again".to_owned()),
        ]);
        assert!(events.open.len() < had);
        let outcome = events.read();
        assert!(!outcome.events.contains_key(name));
        let reasons = outcome
            .absent
            .iter()
            .filter(|a| a.events.contains(&name.to_owned()));
        assert_eq!(
            reasons.map(|a| a.reason.as_str()).collect::<Vec<_>>(),
            ["because"]
        );
    }
}
