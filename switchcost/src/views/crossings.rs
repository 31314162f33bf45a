//! A machine's CPUs, and what a cache line takes between them.

use facts::Machine;
use facts::machine::cpu_map::{CpuMap, Relation};
use serde::Serialize;

/// Most CPUs of a matrix: it stays narrow, and its pairs are measured in seconds.
pub const MOST_CPUS: usize = 12;

/// What `switchcost machine` finds.
#[derive(Clone, Debug, Serialize)]
pub struct Crossings {
    /// Facts of the machine.
    pub machine: Machine,
    /// CPUs online, and what they share.
    pub map: CpuMap,
    /// CPUs that this process may use.
    pub allowed: Vec<u32>,
    /// CPUs between which a cache line was sent.
    pub cpus: Vec<u32>,
    /// Pairs of these.
    pub pairs: Vec<Crossing>,
}

/// Round trips of a cache line between two CPUs.
#[derive(Clone, Debug, Serialize)]
pub struct Crossing {
    /// The CPUs, ascending.
    pub cpus: [u32; 2],
    /// What they share; `None` where the kernel does not tell.
    pub relation: Option<Relation>,
    /// Median of the passes, in ns; `None` where a CPU did not answer in time.
    pub median_ns: Option<f64>,
    /// Time of each pass, itself a median of batches, in ns.
    pub round_trips_ns: Vec<f64>,
}

/// Round trips of all pairs of one relation, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Relation; `None` where the kernel does not tell it.
    pub relation: Option<Relation>,
    /// Number of pairs.
    pub pairs: usize,
    /// Median of the pairs' medians.
    pub median: f64,
    /// Least and greatest of all passes.
    pub range: (f64, f64),
}

impl Crossings {
    /// Median round trip between two CPUs, in ns.
    pub fn median(&self, one: u32, other: u32) -> Option<f64> {
        let cpus = [one.min(other), one.max(other)];
        self.pairs.iter().find(|pair| pair.cpus == cpus)?.median_ns
    }

    /// Relations that were measured, the nearest first, the unknown last.
    pub fn classes(&self) -> Vec<Class> {
        let relations = Relation::ALL.into_iter().map(Some).chain([None]);
        let class = |relation| {
            let pairs = || self.pairs.iter().filter(move |pair| pair.relation == relation);
            let medians: Vec<f64> = pairs().filter_map(|pair| pair.median_ns).collect();
            let times = || pairs().flat_map(|pair| pair.round_trips_ns.iter().copied());
            Some(Class {
                relation,
                pairs: medians.len(),
                median: stats::median(&medians)?,
                range: (times().reduce(f64::min)?, times().reduce(f64::max)?),
            })
        };
        relations.filter_map(class).collect()
    }
}
