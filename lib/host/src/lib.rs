//! The machine as any program of this workspace meets it: signals, standard streams, units, processes, and small files of
//! the kernel.

pub mod cgroup;
pub mod console;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod path;
pub mod signals;
pub mod source;
pub mod strays;
pub mod units;
