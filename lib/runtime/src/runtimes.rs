//! The runtimes of chains, one multi-thread scheduler for all of them or a current-thread one for each, and how their
//! drivers run on them.

use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context;
use chain::{ChainDriver, ChainsFlags, Times, drive_together};
use clap::ValueEnum;
use contract::message::{Need, Needs};
use contract::{Pass, Run};
use threads::{CpuAssignment, worker_needs};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use crate::{Flavor, RuntimeFlags};

/// Place of the driver in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// in a task like the others
    Spawned,
    /// in block_on: with the multi-thread scheduler that thread is no worker, so the kernel has to wake it each time
    BlockOn,
}

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

impl RuntimeFlags {
    /// Builds the runtimes of chains, with I/O if `io` is set.
    pub fn build_for(self, chains: ChainsFlags, io: bool) -> anyhow::Result<Runtimes> {
        let (_, cpus) = self.count()?;
        let is_each = self.flavor == Flavor::CurrentThread;
        let count = if is_each { chains.chains } else { 1 };
        let build = |_| {
            self.build_with(|builder| {
                if io {
                    builder.enable_io();
                }
            })
        };
        let all = (0..count).map(build).collect::<anyhow::Result<_>>()?;
        Ok(Runtimes { all, cpus, is_each })
    }
}

impl Runtimes {
    /// Runtime of a chain.
    pub fn of_chain(&self, chain: u32) -> &Runtime {
        &self.all[chain as usize % self.all.len()]
    }

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
            return Ok(vec![self.drive_one(kind, run, driver)]);
        }
        let seats =
            (0..).zip(drivers).map(|(chain, driver)| Seat { runtimes: self, chain, kind, driver });
        drive_together(run, seats.collect())
    }

    /// Between passes this thread waits outside the runtime for a request, and holds no worker.
    fn drive_one<D: TaskDriver>(
        &self,
        kind: DriverKind,
        run: &mut Run,
        driver: &Arc<Mutex<D>>,
    ) -> anyhow::Result<()> {
        while let Some(pass) = run.next_pass()? {
            // Spawning it is compiled once, and not for each kind of driver.
            let task: Pin<Box<dyn Future<Output = Driven> + Send>> =
                Box::pin(drive_pass(Arc::clone(driver), pass));
            let (pass, result) = run_driver(self.of_chain(0), kind, task)?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
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
        if self.runtimes.is_each {
            let cpus = self.runtimes.cpus.of_chain(self.chain);
            cpus.pin(0, 1).context("cannot pin a driver")?;
        }
        Ok(())
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

/// The driver of a chain, whose work a task does.
pub trait TaskDriver: Send + 'static {
    /// Sends the tokens of an iteration in, takes them out, and times that.
    fn make_trips(&mut self, iteration: u64) -> impl Future<Output = anyhow::Result<Times>> + Send;

    /// Checks the tokens that came out, if that is not done at the end.
    fn verify(&self, _iteration: u64) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A pass that is over, and how it went.
pub type Driven = (Pass, anyhow::Result<()>);

/// The task of a driver in one pass.
pub async fn drive_pass<D: TaskDriver>(driver: Arc<Mutex<D>>, mut pass: Pass) -> Driven {
    let driver = &mut *driver.lock().await;
    let result = async {
        while let Some(iteration) = pass.next_iteration() {
            let (begun, ended) = driver.make_trips(iteration).await?;
            pass.record(ended - begun);
            driver.verify(iteration)?;
        }
        Ok(())
    }
    .await;
    (pass, result)
}

/// Runs a driver in its place until it ends; one that panicked is an error.
pub fn run_driver<T: Send + 'static>(
    runtime: &Runtime,
    kind: DriverKind,
    driver: impl Future<Output = T> + Send + 'static,
) -> anyhow::Result<T> {
    match kind {
        DriverKind::BlockOn => Ok(runtime.block_on(driver)),
        DriverKind::Spawned => {
            let driver = runtime.spawn(async { anyhow::Ok(driver.await) });
            runtime.block_on(crate::join(driver))
        }
    }
}

/// Needs of so many chains beside those of their tasks: the drivers' threads, and runtimes if each has one.
pub fn chains_needs(flags: &RuntimeFlags, chains: ChainsFlags) -> Needs {
    let more = chains.chains - 1;
    let is_each = flags.flavor == Flavor::CurrentThread;
    let descriptors = u64::from(more) * DESCRIPTORS * u64::from(is_each);
    worker_needs(more) + Needs { descriptors: Need::new(descriptors, 0), ..Needs::default() }
}
