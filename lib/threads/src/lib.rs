//! Threads on stacks and CPUs of their own, and forked processes.

mod arena;
pub mod futex;
mod placement;
pub mod process;
mod pthread;
pub mod raw;
pub mod rest;
mod spawner;

pub use placement::{CpuAssignment, Placement};
pub use spawner::{Spawner, StackFlags, Stacks, Thread, worker_needs};
