//! Slices: the runs of a process that takes turns with others, and what the machine did meanwhile.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// By how much the clock of a program and that of the runner may differ, in ns.
pub const CLOCK_SLACK: u64 = 1_000_000;

/// One `run` of a process, a few milliseconds long, between two looks at the machine.
///
/// In a file it is an array, in the order of the fields: there are thousands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Turn of the round, from 0: slices of one turn lie next to each other.
    pub turn: u32,
    /// From the look before it to the next one, in µs.
    pub window: u64,
    pub iterations: u64,
    /// Their time, in ns.
    pub total: u64,
    /// Time that the host took from the CPUs that it may use, in µs; counted in ticks.
    pub stolen: Option<u64>,
    /// Share of the CPUs that other programs used around it, in parts per thousand.
    pub others: Option<u32>,
    /// Time of the speed probe on CPUs that it may use.
    pub probes: Vec<Probe>,
}

/// Time of the speed probe on a CPU, in ns: a fixed number of additions. An array in a file, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Probe {
    pub cpu: u32,
    /// Right before the slice.
    pub before: u32,
    /// Right after it.
    pub after: u32,
}

impl Slice {
    /// Mean iteration, in ns.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.iterations as f64
    }
}

impl Serialize for Slice {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Slice { turn, window, iterations, total, stolen, others, probes } = self;
        (turn, window, iterations, total, stolen, others, probes).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Slice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (turn, window, iterations, total, stolen, others, probes) =
            Deserialize::deserialize(from)?;
        let slice = Slice { turn, window, iterations, total, stolen, others, probes };
        if window == 0 || iterations == 0 {
            return Err(D::Error::custom("a slice without time or iterations"));
        }
        if total > window.saturating_mul(1000).saturating_add(CLOCK_SLACK) {
            let text = format!("iterations of {total} ns in a slice of {window} µs");
            return Err(D::Error::custom(text));
        }
        Ok(slice)
    }
}

impl Serialize for Probe {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.cpu, self.before, self.after).serialize(to)
    }
}

/// CPU time of some CPUs over one window, all of it: what was measured, the host, other programs, and none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Wall time of the window times the number of CPUs, in ns.
    pub all: u64,
    /// Time in which the CPUs were idle or waited for a disk, in ns.
    pub idle: u64,
    /// Time in which they ran anything, in ns.
    pub busy: u64,
    /// Time that the hypervisor gave to others, in ns.
    pub stolen: u64,
    /// CPU time of the measured programs and of the runner, in ns.
    pub own: u64,
}

/// Largest share of an account that may be missing or too much: the kernel counts in ticks.
const TOLERANCE: f64 = 0.02;

impl Account {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Account) -> Account {
        Account {
            all: self.all.saturating_add(other.all),
            idle: self.idle.saturating_add(other.idle),
            busy: self.busy.saturating_add(other.busy),
            stolen: self.stolen.saturating_add(other.stolen),
            own: self.own.saturating_add(other.own),
        }
    }

    /// Share of the time that other programs used; `None` if the measured programs claim more than there was.
    pub fn others(&self) -> Option<f64> {
        let others = (self.busy as f64 - self.own as f64) / self.all as f64;
        // Less than nothing within the tolerance is nothing.
        (self.all > 0 && others >= -TOLERANCE).then_some(others.max(0.0))
    }

    /// Share of the time that the kernel gives to nobody, if it is more than its ticks explain. A host that stops a
    /// CPU and does not say so is one cause.
    pub fn unaccounted(&self) -> Option<f64> {
        let known = self.idle as f64 + self.busy as f64 + self.stolen as f64;
        let missing = 1.0 - known / self.all as f64;
        (self.all > 0 && missing.abs() > TOLERANCE).then_some(missing)
    }

    /// Share of the time that the hypervisor gave to others.
    pub fn stolen(&self) -> Option<f64> {
        (self.all > 0).then_some(self.stolen as f64 / self.all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_take_no_longer_than_their_slice() {
        for (window, iterations, total, is_possible) in [
            (9000, 10, 9_999_999, true),
            (9000, 10, 10_000_001, false),
            (0, 10, 1, false),
            (9000, 0, 1, false),
        ] {
            let text = format!("[1,{window},{iterations},{total},0,null,[[0,3700,3700]]]");
            let slice = serde_json::from_str::<Slice>(&text).ok();
            let written = slice.map(|slice| serde_json::to_string(&slice).unwrap());
            assert_eq!(written, is_possible.then_some(text));
        }
    }

    #[test]
    fn an_account_adds_up_or_says_what_is_missing() {
        let account =
            |idle, busy, own| Account { all: 1000, idle, busy, own, ..Account::default() };
        assert_eq!(account(500, 500, 400).others(), Some(0.1));
        assert_eq!(account(500, 490, 500).others(), Some(0.0));
        assert_eq!(account(500, 490, 500).unaccounted(), None);
        assert!((account(440, 500, 400).unaccounted().unwrap() - 0.06).abs() < 1e-9);
        // Programs that ran longer than their CPUs.
        assert_eq!(account(500, 500, 560).others(), None);
        assert_eq!(Account::default().others(), None);
        assert_eq!(account(500, 500, 0).plus(account(0, 1000, 0)).others(), Some(0.75));
    }
}
