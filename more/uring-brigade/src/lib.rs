//! Brigades of async tasks on io_uring, whatever executor runs the tasks.

mod brigade;
mod ring;
mod setup;

pub use brigade::{End, Executor, brigade};
pub use chain::{ChainFlags, ChainsFlags};
pub use ring::Ring;
pub use setup::{Setup, entries};
