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

pub use build::Build;
pub use counters::{Absent, Counters};
pub use figure::busy_cpus;
pub use host::units::Quantity;
pub use machine::Machine;
pub use memory::{Memory, MemoryChange};
pub use metric::{Metric, Stat};
pub use record::{Group, Record, Run, SCHEMA, Trial, Why, now, once, per_wait};
pub use row::{
    Also, Command, Effort, Place, Row, Side, Swept, Ties, Yardstick, place_of, with_value,
};
pub use samples::{Samples, Thirds, merge};
pub use setting::{Cpus, Policy, Relation, Setting};
pub use slice::{Account, Probe, Slice};
pub use waits::Waits;

/// True of a value that a file does not show.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
