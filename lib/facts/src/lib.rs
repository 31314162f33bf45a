//! What a results file holds, and how it is read: facts of a process and of the machine, seen
//! from outside while the program waits. A fact that cannot be read is absent, never a guess and
//! never 0. Times are in ns and sizes in bytes.

pub mod build;
pub mod counters;
mod figure;
#[cfg(test)]
#[path = "../../limits/src/fixtures.rs"]
mod fixtures;
pub mod interference;
pub mod machine;
pub mod memory;
pub mod metric;
pub mod plan;
pub mod record;
pub mod samples;
pub mod service;
pub mod slice;
pub mod speed;
mod stat;
pub mod usage;

use limits::{cgroup, source};
use serde::Serialize;
use serde_json::{Map, Value};

pub use build::Build;
pub use contract::units::Quantity;
pub use counters::{Absent, Counters};
pub use interference::Waits;
pub use machine::Machine;
pub use memory::{Memory, MemoryChange};
pub use metric::{Metric, Stat};
pub use plan::{Also, Case, Plan, Section, Yardstick};
pub use record::{
    Ending, Group, Kind, Place, Process, Record, Row, Run, SCHEMA, Side, milliseconds,
};
pub use samples::{Samples, Thirds, distribution};
pub use slice::{Account, Probe, Slice};

/// Names of the fields that differ, if both sides know them: neither null nor empty.
fn differing<T: Serialize>(one: &T, other: &T) -> Vec<String> {
    let [one, other] = [one, other].map(|facts| serde_json::to_value(facts).unwrap_or_default());
    let is_known = |fact: &Value| !fact.is_null() && *fact != Value::Object(Map::new());
    let facts = one.as_object().into_iter().flatten();
    let differing = facts
        .filter(|&(name, fact)| is_known(fact) && is_known(&other[name]) && other[name] != *fact);
    differing.map(|(name, _)| name.clone()).collect()
}
