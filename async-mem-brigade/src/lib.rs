//! What brigades of async tasks in memory share, whatever executor runs the tasks.

mod brigade;
mod executor;
mod flags;
pub mod links;
pub mod minimal;
mod special;

pub use brigade::{Measure, measure};
pub use executor::{Executor, Tokio};
pub use flags::{BrigadeFlags, Transport, one_thread};
