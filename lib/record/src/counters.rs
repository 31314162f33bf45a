//! Events that the kernel counted, and why others are missing.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Events counted from before the first iteration of a further `run` until after its last one,
/// settling included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    pub iterations: u64,
    /// Calls that read, as read(2): `syscr` of /proc/PID/io. Receiving from a socket does not count.
    pub reads: Option<u64>,
    /// Calls that write, as write(2): `syscw` of /proc/PID/io.
    pub writes: Option<u64>,
    /// Perf events by name. Those of caches are of the last level, as the CPU defines it.
    pub events: BTreeMap<String, u64>,
    /// Events that are missing from `events`.
    pub absent: Vec<Absent>,
}

/// Events that could not be counted for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Absent {
    pub events: Vec<String>,
    pub reason: String,
    /// Command or change that would allow them; absent if nothing would.
    pub remedy: Option<String>,
}

impl Absent {
    /// A reason, of no event so far.
    pub fn because(reason: impl Into<String>, remedy: Option<&str>) -> Self {
        Absent { events: Vec::new(), reason: reason.into(), remedy: remedy.map(str::to_owned) }
    }

    /// Adds an event that is missing for this reason to a list.
    pub fn add(mut self, event: &str, absent: &mut Vec<Absent>) {
        let mut known = absent.iter_mut();
        match known.find(|known| known.reason == self.reason && known.remedy == self.remedy) {
            Some(known) => known.events.push(event.to_owned()),
            None => {
                self.events.push(event.to_owned());
                absent.push(self);
            }
        }
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.events.join(", "), self.reason)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, ": {remedy}"))
    }
}
