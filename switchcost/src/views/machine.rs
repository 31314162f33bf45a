//! A machine's CPUs, and the round trip of a cache line between them.

use facts::Machine;
use facts::machine::cpu_map::{CpuMap, Relation};
use serde::Serialize;

/// Most CPUs of a matrix: it stays narrow, and its pairs are measured in seconds.
pub(crate) const MOST_CPUS: usize = 12;

/// What `switchcost machine` finds.
#[derive(Clone, Debug, Serialize)]
pub struct MachineReport {
    pub(crate) machine: Machine,
    pub(crate) map: CpuMap,
    pub(crate) allowed: Vec<u32>,
    /// CPUs between which a cache line was sent.
    pub(crate) cpus: Vec<u32>,
    pub(crate) pairs: Vec<CpuPair>,
}

/// Round trips of a cache line between two CPUs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CpuPair {
    pub(crate) cpus: [u32; 2],
    /// What they share; `None` if the kernel does not tell.
    pub(crate) relation: Option<Relation>,
    /// Median of the passes, in ns; `None` if a CPU did not answer in time.
    pub(crate) median_ns: Option<f64>,
    /// Time of each pass, itself a median of batches, in ns.
    pub(crate) round_trips_ns: Vec<f64>,
}
