//! The loop: a chain of tasks, and the driver that times it. Links and executors are what is measured,
//! so it is compiled for each pair of them.

use std::future::pending;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::time::Instant;

use anyhow::{Result, anyhow};
use chain::{
    ChainBuilder, ChainsFlags, Next, StartGuard, StartLatch, TaskResults, Times, TokenSource,
    Tokens, conclude,
};
use contract::Run;
use runtime::TaskDriver;

use crate::links::{Receiver, Sender};
use crate::{BrigadeFlags, Executor};

/// Builds all chains, drives them, and takes them down.
pub fn brigade<R: Receiver, E: Executor>(
    flags: &BrigadeFlags,
    chains: ChainsFlags,
    executor: &E,
    run: &mut Run,
) -> Result<()> {
    let mut built = Vec::new();
    let drivers = (0..chains.chains).map(|chain| {
        let mut tasks = Vec::new();
        let driver = build::<R, E>(flags, (chain, chains.trips), executor, &mut tasks);
        built.push((chain, tasks));
        driver
    });
    let drivers = drivers.collect::<Result<Vec<Driver<R>>>>();
    let driven = drivers.and_then(|drivers| executor.drive(run, drivers));
    // The drivers' ends are dropped now, and the end runs along each chain.
    let results = built.into_iter().map(|(chain, tasks)| {
        let join = |(place, task)| (place, executor.join(chain, task));
        tasks.into_iter().map(join).collect::<TaskResults>()
    });
    conclude(results.collect(), driven, run.sent())
}

fn await_start(executor: &impl Executor, chain: u32, mut latch: StartLatch) -> Result<()> {
    executor.join(chain, executor.spawn(chain, async move { runtime::wait_for(&mut latch).await }))
}

/// Builds a chain, waits until each task runs, and returns its driver.
fn build<R: Receiver, E: Executor>(
    flags: &BrigadeFlags,
    (chain, trips): (u32, u32),
    executor: &E,
    tasks: &mut Vec<(u32, E::Task<u64>)>,
) -> Result<Driver<R>> {
    let mut backlog = flags.chain.backlog();
    let tokens = Tokens::new(&flags.chain, trips, backlog.clone());
    let latch = StartLatch::new(flags.chain.tasks());
    let link = || Ok(R::link(flags.capacity()));
    let mut builder = ChainBuilder::new(flags.chain.tasks(), link)?;
    while let Some(station) = builder.next_station()? {
        let (place, from, to) = (station.place, station.upstream, station.downstream);
        let fault = flags.chain.fault.of((chain, flags.chain.tasks()), place);
        let guard = latch.guard(fault);
        let backlog = if place == 0 { backlog.take() } else { None };
        let task = if backlog.is_none() && fault.is_none() {
            executor.spawn(chain, pass_on(from, to, guard))
        } else {
            let source = TokenSource::new(backlog, fault);
            executor.spawn(chain, boxed(pass_on_from((from, to), source, guard)))
        };
        tasks.push((place, task));
    }
    await_start(executor, chain, latch)?;
    let (last, first) = builder.driver_ends();
    Ok(Driver { last, first, tokens, tasks: flags.chain.tasks() })
}

/// A task of any kind: spawning it is compiled once, and not for each link.
fn boxed(
    task: impl Future<Output = Result<u64>> + Send + 'static,
) -> Pin<Box<dyn Future<Output = Result<u64>> + Send>> {
    Box::pin(task)
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the link ends. It keeps the
/// token until it is handed on: by rustc 1.95, `Some(token)` takes 4 % more time a hop on Tokio's `mpsc`.
async fn pass_on<R: Receiver>(mut from: R, mut to: R::Sender, guard: StartGuard) -> Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let Some(ref token) = from.take().await {
        to.put(token + 1).await.map_err(|_| receiver_gone())?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with tokens that do not come from a link alone.
async fn pass_on_from<R: Receiver>(
    (mut from, mut to): (R, R::Sender),
    mut source: TokenSource,
    guard: StartGuard,
) -> Result<u64> {
    guard.started()?;
    let mut passed = 0;
    loop {
        let token = match source.next_place()? {
            Next::Token(token) => token,
            Next::Link => match from.take().await {
                Some(token) => source.arrived(token),
                None => return Ok(passed),
            },
            Next::End => return Ok(passed),
            Next::Never => pending().await,
        };
        to.put(token + 1).await.map_err(|_| receiver_gone())?;
        passed += 1;
    }
}

/// Error of a sender whose receiver is gone.
fn receiver_gone() -> Error {
    Error::new(ErrorKind::BrokenPipe, "the next task is gone")
}

/// The driver of a chain: sends the tokens in, takes them out, and times that.
struct Driver<R: Receiver> {
    last: R,
    first: R::Sender,
    tokens: Tokens,
    tasks: u32,
}

impl<R: Receiver> TaskDriver for Driver<R> {
    async fn make_trips(&mut self, iteration: u64) -> Result<Times> {
        let early = || anyhow!("the chain ended early");
        let (sent, trips) = self.tokens.set_out_trips(iteration);

        let begun = Instant::now();
        for trip in trips {
            for &token in &trip[..sent] {
                self.first.put(token).await.map_err(|_| early())?;
            }
            for token in trip {
                *token = self.last.take().await.ok_or_else(early)?;
            }
        }
        Ok((begun, Instant::now()))
    }

    fn verify(&self, iteration: u64) -> Result<()> {
        self.tokens.verify(iteration, self.tasks)
    }
}
