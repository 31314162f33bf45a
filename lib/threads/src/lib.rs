//! Threads on stacks and CPUs of their own.

mod arena;
pub mod futex;
mod handoff;
mod placement;
mod pthread;
mod spawner;

pub use handoff::HandoffCell;
pub use placement::{CpuAssignment, Placement};
pub use spawner::{Spawner, StackFlags, Stacks, Thread};
