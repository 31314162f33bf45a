//! A process, the machine and its limits, seen from outside the process that is measured.
//!
//! The runner reads them while the program waits, so that nothing of it is in the measured process.
//! A figure that cannot be read is absent, never 0.

pub mod build;
pub mod cache_line;
mod cgroup;
pub mod interference;
pub mod limits;
pub mod machine;
pub mod memory;
pub mod migrations;
pub mod perf;
mod source;
pub mod speed;
pub mod usage;
