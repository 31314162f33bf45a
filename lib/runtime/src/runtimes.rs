//! The runtimes of several chains: one multi-thread scheduler for all of them, or a current-thread one for each.

use anyhow::Context;
use chain::ChainsFlags;
use contract::message::{Need, Needs};
use threads::{CpuAssignment, worker_needs};
use tokio::runtime::Runtime;

use crate::{Flavor, TokioFlags};

/// Descriptors of a further runtime: its epoll, the eventfd that wakes it, and two to spare.
const DESCRIPTORS: u64 = 4;

/// Runtimes of several chains.
#[derive(Debug)]
pub struct Runtimes {
    /// Runtimes: one, or one for each chain.
    all: Vec<Runtime>,
    /// CPUs of the threads that drive current-thread runtimes.
    cpus: CpuAssignment,
    /// True if a driver's thread runs its chain.
    is_each: bool,
}

impl TokioFlags {
    /// Builds them, with I/O if `io` is set.
    pub fn build_for(self, chains: ChainsFlags, io: bool) -> anyhow::Result<Runtimes> {
        let (_, cpus) = self.runtime.count()?;
        let is_each = self.runtime.flavor == Flavor::CurrentThread;
        let count = if is_each { chains.chains } else { 1 };
        let all = (0..count).map(|_| self.build(io)).collect::<anyhow::Result<_>>()?;
        Ok(Runtimes { all, cpus, is_each })
    }
}

impl Runtimes {
    /// Runtime of a chain.
    pub fn of_chain(&self, chain: u32) -> &Runtime {
        &self.all[chain as usize % self.all.len()]
    }

    /// Pins the calling thread, if it is to run a chain.
    pub fn pin(&self, chain: u32) -> anyhow::Result<()> {
        if self.is_each {
            self.cpus.of_chain(chain).pin(0, 1).context("cannot pin a driver")?;
        }
        Ok(())
    }
}

/// Needs of so many chains beside those of their tasks: the drivers' threads, and runtimes if each has one.
pub fn chains_needs(flags: &TokioFlags, chains: ChainsFlags) -> Needs {
    let more = chains.chains - 1;
    let is_each = flags.runtime.flavor == Flavor::CurrentThread;
    let descriptors = u64::from(more) * DESCRIPTORS * u64::from(is_each);
    worker_needs(more) + Needs { descriptors: Need::new(descriptors, 0), ..Needs::default() }
}
