//! Several chains at work at the same time, on Tokio; the loop of each is in `brigade.rs`.

use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result};
use chain::{ChainDriver, ChainsFlags, PollCount, TaskResults, Times, conclude, drive_together};
use contract::Run;
use runtime::{DriverKind, Runtimes, run_driver};
use tokio::sync::Mutex;

use crate::brigade::{Ends, build, make_trips, start_idle};
use crate::links::Receiver;
use crate::{BrigadeFlags, Executor, Tokio};

/// Brigades over links of one kind.
pub type ChainsBrigade =
    fn(&BrigadeFlags, ChainsFlags, DriverKind, &Runtimes, &mut Run) -> Result<()>;

/// Builds brigades, drives them together, and takes them down.
pub fn brigades<R: Receiver>(
    flags: &BrigadeFlags,
    chains: ChainsFlags,
    kind: DriverKind,
    runtimes: &Runtimes,
    run: &mut Run,
) -> Result<()> {
    let polls = PollCount::default();
    let tokio = |chain| Tokio { runtime: runtimes.of_chain(chain), driver: kind };
    let _idle = start_idle::<R, _>(flags, &tokio(0), &polls).context("the idle tasks")?;
    let mut built = Vec::new();
    let drivers = (0..chains.chains).map(|chain| {
        let tokio = tokio(chain);
        let mut tasks = Vec::new();
        let ends = build::<R, _>(flags, (chain, chains.trips), &tokio, &mut tasks);
        built.push((tokio, tasks));
        let ends = Arc::new(Mutex::new(ends?));
        Ok(Driver { runtimes, chain, tokio, tasks: flags.flags.tasks, ends })
    });
    let drivers = drivers.collect::<Result<Vec<Driver<R>>>>();
    let driven = drivers.and_then(|drivers| drive_together(run, drivers));
    // The drivers' ends are dropped now, and the end runs along each chain.
    let results = built.into_iter().map(|(tokio, tasks)| {
        let join = |(place, task)| (place, tokio.join(task));
        tasks.into_iter().map(join).collect::<TaskResults>()
    });
    conclude(results.collect(), driven, run.sent())?;
    polls.check(flags.chain.idle)
}

/// The driver of one chain among several.
struct Driver<'a, R: Receiver> {
    runtimes: &'a Runtimes,
    chain: u32,
    tokio: Tokio<'a>,
    tasks: u32,
    ends: Arc<Mutex<Ends<R>>>,
}

impl<R: Receiver> ChainDriver for Driver<'_, R> {
    fn start(&mut self) -> Result<()> {
        self.runtimes.pin(self.chain)
    }

    fn make_trips(&mut self, iteration: u64) -> Result<Times> {
        let ends = Arc::clone(&self.ends);
        // Spawning it is compiled once, and not for each link.
        let trips: Pin<Box<dyn Future<Output = Result<Times>> + Send>> =
            Box::pin(async move { make_trips(&mut *ends.lock().await, iteration).await });
        run_driver(self.tokio.runtime, self.tokio.driver, trips)?
    }

    fn verify(&self, iteration: u64) -> Result<()> {
        let (_, _, tokens) = &*self.ends.blocking_lock();
        tokens.verify(iteration, self.tasks)
    }
}
