//! What Linux shows of processes and of the machine, seen from outside while a program waits. A fact that cannot be
//! read is absent, never a guess and never 0. Times are in ns and sizes in bytes.

pub mod affinity;
pub mod counters;
pub mod cpu_map;
pub mod interference;
pub mod machine;
pub mod memory;
pub mod service;
pub mod speed;
pub mod usage;
