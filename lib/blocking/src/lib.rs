//! Work that blocks beside an async runtime: where it is done, the threads that do it, and the
//! neighbours that notice it.

mod neighbours;
mod pool;
mod serve;
mod strategy;
mod timer;

pub use neighbours::{NeighbourFlags, Progress};
pub use pool::{Bound, Pool, Queue};
pub use serve::serve;
pub use strategy::{BlockingFlags, Offload, Strategy, Threads};
