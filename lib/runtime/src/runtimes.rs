//! The runtimes of chains, one multi-thread scheduler for all of them or a current-thread one for each, and how their
//! drivers run on them.

use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context;
use chain::{ChainDriver, ChainsFlags, Times, drive_together};
use contract::Run;
use contract::message::{Need, Needs};
use threads::{CpuAssignment, worker_needs};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use crate::driver::{Driven, DriverKind, TaskDriver, drive, drive_pass, run_driver};
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

impl Runtimes {
    /// Drives all chains through all passes of a run: one chain by a task for each pass, several by a task for each
    /// iteration. Returns what came of each driver; an error is one of the run itself.
    pub fn drive<D: TaskDriver>(
        &self,
        kind: DriverKind,
        run: &mut Run,
        drivers: Vec<D>,
    ) -> anyhow::Result<Vec<anyhow::Result<()>>> {
        let drivers: Vec<_> =
            drivers.into_iter().map(|driver| Arc::new(Mutex::new(driver))).collect();
        if let [driver] = &drivers[..] {
            // Spawning it is compiled once, and not for each kind of driver.
            let task = |pass| -> Pin<Box<dyn Future<Output = Driven> + Send>> {
                Box::pin(drive_pass(Arc::clone(driver), pass))
            };
            return Ok(vec![drive(self.of_chain(0), kind, run, task)]);
        }
        let seats =
            (0..).zip(drivers).map(|(chain, driver)| Seat { runtimes: self, chain, kind, driver });
        drive_together(run, seats.collect())
    }
}

/// The driver of one chain among several.
struct Seat<'a, D> {
    runtimes: &'a Runtimes,
    chain: u32,
    kind: DriverKind,
    driver: Arc<Mutex<D>>,
}

impl<D: TaskDriver> ChainDriver for Seat<'_, D> {
    fn start(&mut self) -> anyhow::Result<()> {
        self.runtimes.pin(self.chain)
    }

    fn make_trips(&mut self, iteration: u64) -> anyhow::Result<Times> {
        let driver = Arc::clone(&self.driver);
        let trips: Pin<Box<dyn Future<Output = anyhow::Result<Times>> + Send>> =
            Box::pin(async move { driver.lock().await.make_trips(iteration).await });
        run_driver(self.runtimes.of_chain(self.chain), self.kind, trips)?
    }

    fn verify(&self, iteration: u64) -> anyhow::Result<()> {
        self.driver.blocking_lock().verify(iteration)
    }
}

/// Needs of so many chains beside those of their tasks: the drivers' threads, and runtimes if each has one.
pub fn chains_needs(flags: &TokioFlags, chains: ChainsFlags) -> Needs {
    let more = chains.chains - 1;
    let is_each = flags.runtime.flavor == Flavor::CurrentThread;
    let descriptors = u64::from(more) * DESCRIPTORS * u64::from(is_each);
    worker_needs(more) + Needs { descriptors: Need::new(descriptors, 0), ..Needs::default() }
}
