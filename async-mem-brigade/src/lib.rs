//! Brigades of async tasks in memory.

mod brigade;
mod executor;
mod flags;
pub mod links;
pub mod minimal;
mod program;

pub use brigade::brigade;
pub use chain::ChainsFlags;
pub use executor::{Executor, Tokio};
pub use flags::BrigadeFlags;
pub use program::main;
