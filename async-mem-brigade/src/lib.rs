//! Brigades of async tasks in memory, whatever executor runs the tasks.

mod brigade;
mod chains;
mod executor;
mod flags;
pub mod links;
pub mod minimal;
mod program;

pub use brigade::{Brigade, brigade};
pub use chain::ChainsFlags;
pub use chains::{ChainsBrigade, brigades};
pub use executor::{Driver, Executor, Tokio};
pub use flags::{BrigadeFlags, Transport};
pub use program::main;
