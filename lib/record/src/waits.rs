//! What kept processes waiting.

use serde::{Deserialize, Serialize};

/// What keeps processes waiting, since the system booted or in a span of time, in ns; what the system does not tell is
/// absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// Time for which a CPU quota stopped the runner's control group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// Time in which some task of the system waited for a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<u64>,
    /// Time in which some task of the system waited for memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<u64>,
    /// Time in which some task of the system waited for a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure: Option<u64>,
}

impl Waits {
    /// Growth of each total since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Waits {
            throttled: grown(self.throttled, before.throttled),
            cpu_pressure: grown(self.cpu_pressure, before.cpu_pressure),
            memory_pressure: grown(self.memory_pressure, before.memory_pressure),
            io_pressure: grown(self.io_pressure, before.io_pressure),
        }
    }
}

fn grown(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    now?.checked_sub(then?)
}
