//! The driver of a chain of tasks, pass after pass: a spawned task like the others, or the future of
//! `Runtime::block_on`.

use std::pin::Pin;
use std::sync::Arc;

use chain::{ChainDriver, Times, drive_together};
use contract::{Pass, Run};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use crate::idle::DriverKind;
use crate::runtimes::Runtimes;

/// The driver of a chain, whose work a task does.
pub trait TaskDriver: Send + 'static {
    /// Sends the tokens of an iteration in, takes them out, and times that.
    fn make_trips(&mut self, iteration: u64) -> impl Future<Output = anyhow::Result<Times>> + Send;

    /// Checks the tokens that came out.
    fn verify(&self, iteration: u64) -> anyhow::Result<()>;
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

/// Runs a driver's task for each pass of a run. Between passes this thread waits outside the runtime for a
/// request, and holds no worker.
pub fn drive<F: Future<Output = Driven> + Send + 'static>(
    runtime: &Runtime,
    kind: DriverKind,
    run: &mut Run,
    drive: impl Fn(Pass) -> F,
) -> anyhow::Result<()> {
    while let Some(pass) = run.next_pass()? {
        let (pass, result) = run_driver(runtime, kind, drive(pass))?;
        run.finish(pass)?;
        result?;
    }
    Ok(())
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
