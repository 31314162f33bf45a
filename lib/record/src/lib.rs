//! What a results file holds. A fact that is not known is absent, never a guess and never 0. Times are in ns and sizes
//! in bytes.

pub mod build;
mod counters;
mod figure;
pub mod machine;
mod memory;
pub mod metric;
pub mod record;
mod row;
pub mod samples;
mod setting;
pub mod slice;
mod waits;

use serde::Serialize;
use serde_json::{Map, Value};

pub use build::Build;
pub use contract::units::Quantity;
pub use counters::{Absent, Counters};
pub use machine::Machine;
pub use memory::{Memory, MemoryChange};
pub use metric::{Metric, Stat};
pub use record::{Ending, Group, Kind, Record, Run, SCHEMA, Trial, milliseconds};
pub use row::{Also, Command, Effort, Place, Row, Side, Swept, Ties, Yardstick};
pub use samples::{Samples, Thirds, distribution};
pub use setting::{Cpus, Policy, Relation, Setting};
pub use slice::{Account, Probe, Slice};
pub use waits::Waits;

/// Names of the fields that differ, if both sides know them: neither null nor empty.
fn differing<T: Serialize>(one: &T, other: &T) -> Vec<String> {
    let [one, other] = [one, other].map(|facts| serde_json::to_value(facts).unwrap_or_default());
    let is_known = |fact: &Value| !fact.is_null() && *fact != Value::Object(Map::new());
    let facts = one.as_object().into_iter().flatten();
    let differing = facts
        .filter(|&(name, fact)| is_known(fact) && is_known(&other[name]) && other[name] != *fact);
    differing.map(|(name, _)| name.clone()).collect()
}
