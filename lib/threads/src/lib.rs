//! Threads on stacks and CPUs of their own, and forked processes.

pub mod futex;
mod placement;
pub mod process;
pub mod raw;
pub mod rest;
mod stack;

pub use placement::{CpuAssignment, Placement, allowed_cpus, restrict};
pub use stack::{StackFlags, join, worker_needs};
