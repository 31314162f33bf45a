//! Brigades of async tasks in memory, whatever executor runs the tasks.

mod brigade;
mod executor;
mod flags;
pub mod links;
pub mod minimal;
mod program;

pub use brigade::{Brigade, brigade};
pub use chain::ChainsFlags;
pub use executor::{Executor, Tokio};
pub use flags::{BrigadeFlags, Transport};
pub use program::main;
