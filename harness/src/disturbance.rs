//! What happened to the process while it measured, and not by its own doing: it was stopped and
//! continued, a CPU went offline, somebody else changed where it may run.

use std::fs;
use std::time::Duration;

use nix::unistd::{Pid, getpid, gettid};

use crate::notes::Note;
use crate::placement::{CpuList, allowed};
use crate::signals;

/// So many of the samples under way at a stop are named.
const NAMED: usize = 10;

/// Which samples were under way when the process was stopped.
#[derive(Debug)]
pub(crate) struct Stops {
    before: u64,
    seen: u64,
    looked_at: u64,
    previous: Duration,
    samples: Vec<u64>,
    more: u64,
    time: Duration,
}

impl Stops {
    /// Has room for what it will see; nothing is allocated later.
    pub(crate) fn new() -> Self {
        Stops {
            before: 0,
            seen: 0,
            looked_at: 0,
            previous: Duration::ZERO,
            samples: Vec::with_capacity(NAMED),
            more: 0,
            time: Duration::ZERO,
        }
    }

    /// Forgets what was before the first sample.
    pub(crate) fn begin(&mut self) {
        self.before = signals::continued();
        self.seen = self.before;
    }

    /// Looks whether the process was continued during the sample that has just been taken.
    pub(crate) fn look(&mut self, elapsed: Duration) {
        self.see(signals::continued(), elapsed);
    }

    /// Looks for the last time, when the last sample is taken.
    pub(crate) fn finish(&mut self) {
        if signals::continued() != self.seen && self.looked_at > 0 {
            // Seen late, so that it belongs to the sample before one that never was.
            self.see(signals::continued(), Duration::ZERO);
        }
    }

    fn see(&mut self, continued: u64, elapsed: Duration) {
        if continued != self.seen {
            self.seen = continued;
            self.mark(elapsed);
        }
        self.previous = elapsed;
        self.looked_at += 1;
    }

    /// The thread that SIGCONT interrupts may not be the one that takes the samples: it is then
    /// seen a sample late, and the longer of the two is the one that was stopped.
    fn mark(&mut self, elapsed: Duration) {
        let is_late = self.previous > elapsed;
        let index = self.looked_at - u64::from(is_late);
        if self.samples.last() == Some(&index) {
            return;
        }
        self.time += elapsed.max(self.previous);
        match self.samples.len() < NAMED {
            true => self.samples.push(index),
            false => self.more += 1,
        }
    }

    /// What is to be told of it.
    pub(crate) fn note(&self) -> Option<Note> {
        (self.seen != self.before).then(|| Note::Stopped {
            times: self.seen - self.before,
            samples: self.samples.clone(),
            more: self.more,
            time: self.time.as_nanos() as u64,
        })
    }
}

/// Where the process can run: what others may change while it measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cpus {
    online: Option<String>,
    process: Option<String>,
    driver: (Pid, Option<String>),
}

impl Cpus {
    /// Reads the CPUs that are online, and those that the process and the calling thread may use.
    pub(crate) fn now() -> Self {
        let mask = |id| Some(CpuList::from(allowed(id).ok()?).to_string());
        let online = fs::read_to_string("/sys/devices/system/cpu/online").ok();
        Cpus {
            online: online.map(|list| list.trim().to_owned()),
            process: mask(getpid()),
            driver: (gettid(), mask(Pid::from_raw(0))),
        }
    }

    /// What has changed since `before`. A driver that moves between threads (a task) has no mask
    /// of its own.
    pub(crate) fn since(self, before: Cpus) -> Vec<Note> {
        let driver = match self.driver.0 == before.driver.0 {
            true => (before.driver.1, self.driver.1),
            false => (None, None),
        };
        let pairs = [
            ("online", (before.online, self.online)),
            ("that the process may use", (before.process, self.process)),
            ("that the driver may use", driver),
        ];
        let mut notes: Vec<Note> = Vec::new();
        for (which, pair) in pairs {
            let (Some(before), Some(after)) = pair else {
                continue;
            };
            // The main thread is often the driver as well.
            let is_told = notes.iter().any(
                |note| matches!(note, Note::CpusChanged { before: b, after: a, .. } if *b == before && *a == after),
            );
            if before != after && !is_told {
                notes.push(Note::CpusChanged {
                    which: which.to_owned(),
                    before,
                    after,
                });
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_marks_the_longer_of_the_samples_it_may_have_hit() {
        let (short, long) = (Duration::from_micros(1), Duration::from_secs(1));
        let samples = |seen: [(u64, Duration); 4]| {
            let mut stops = Stops::new();
            for (continued, elapsed) in seen {
                stops.see(continued, elapsed);
            }
            (stops.samples.clone(), stops.time, stops.note().is_some())
        };
        let none = samples([(0, short), (0, long), (0, short), (0, short)]);
        assert_eq!(none, (vec![], Duration::ZERO, false));
        let at_once = samples([(0, short), (1, long), (1, short), (1, short)]);
        let late = samples([(0, short), (0, long), (1, short), (1, short)]);
        assert_eq!(at_once, (vec![1], long, true));
        assert_eq!(late, at_once);
        let twice = samples([(1, long), (1, short), (3, long), (4, short)]);
        assert_eq!(twice, (vec![0, 2], 2 * long, true));
    }

    #[test]
    fn more_than_a_few_samples_are_only_counted() {
        let mut stops = Stops::new();
        for k in 1..=NAMED as u64 + 3 {
            stops.looked_at = k;
            stops.mark(Duration::from_secs(k));
        }
        assert_eq!((stops.samples.len(), stops.more), (NAMED, 3));
        assert_eq!(stops.samples.capacity(), NAMED);
    }

    #[test]
    fn what_has_changed_is_told_once() {
        let cpus = |online: &str, mask: &str| Cpus {
            online: Some(online.to_owned()),
            process: Some(mask.to_owned()),
            driver: (Pid::from_raw(1), Some(mask.to_owned())),
        };
        assert_eq!(cpus("0-1", "0-1").since(cpus("0-1", "0-1")), []);
        let notes = cpus("0", "0").since(cpus("0-1", "0-3"));
        assert_eq!(notes.len(), 2, "{notes:?}");
        let unseen = Cpus {
            online: None,
            ..cpus("", "1")
        };
        assert_eq!(unseen.clone().since(cpus("0-1", "1")), []);
        let elsewhere = Cpus {
            driver: (Pid::from_raw(2), Some("0".to_owned())),
            ..unseen
        };
        assert_eq!(elsewhere.since(cpus("0-1", "1")), []);
    }

    #[test]
    fn this_process_has_cpus() {
        let now = Cpus::now();
        assert!(now.process.is_some() && now.driver.1.is_some());
        assert_eq!(now.clone().since(now), []);
    }
}
