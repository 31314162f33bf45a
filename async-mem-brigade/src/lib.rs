//! Brigades of async tasks in memory, whatever executor runs the tasks.

mod brigade;
mod executor;
mod flags;
pub mod links;
pub mod minimal;
mod source;

pub use brigade::{Brigade, brigade};
pub use chain::Buffer;
pub use executor::{Driver, Executor, Tokio};
pub use flags::{BrigadeFlags, Transport};
