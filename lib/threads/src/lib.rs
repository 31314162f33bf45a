//! Threads on stacks and CPUs of their own.

mod arena;
mod placement;
mod pthread;
mod spawner;

pub use placement::{CpuAssignment, Placement};
pub use spawner::{Spawner, StackFlags, Stacks, Thread};
