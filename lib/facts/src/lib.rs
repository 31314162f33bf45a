//! What a results file holds, and how it is read: facts of a process and of the machine, seen
//! from outside the process that is measured.
//!
//! The runner reads them while the program waits, so that nothing of it is in the measured process.
//! A fact that cannot be read is absent, never a guess and never 0. Times are in ns and sizes in
//! bytes.

pub mod build;
pub mod cache_line;
pub mod counters;
mod figure;
#[cfg(test)]
#[path = "../../limits/src/fixtures.rs"]
mod fixtures;
pub mod interference;
pub mod machine;
pub mod memory;
pub mod metric;
pub mod migrations;
pub mod plan;
pub mod record;
pub mod samples;
pub mod service;
pub mod slice;
pub mod speed;
mod stat;
pub mod usage;

use limits::{cgroup, source};

pub use build::Build;
pub use cache_line::CacheLine;
pub use contract::units::Quantity;
pub use counters::{Absent, Counters, Scope};
pub use interference::Interference;
pub use machine::Machine;
pub use memory::{Memory, MemoryChange};
pub use metric::{Metric, Stat};
pub use plan::{Also, Case, Link, Plan, Section, Yardstick};
pub use record::{Ending, Kind, Place, Process, Record, Run, SCHEMA, Side};
pub use samples::{Samples, Thirds, distribution};
pub use slice::{Account, Probe, Slice};

/// Both facts are known and unequal.
fn differ<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}
