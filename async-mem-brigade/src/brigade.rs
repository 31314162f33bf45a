//! The loop: a chain of tasks, and the driver that times it. Links and executors are what is measured,
//! so it is compiled for each pair of them.

use std::future::pending;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use chain::{
    ChainBuilder, Next, PollCount, StartGuard, StartLatch, TaskResults, Times, TokenSource, Tokens,
    WorkingSet,
};
use contract::{Pass, Run};
use runtime::Driven;
use tokio::sync::Mutex;

use crate::links::{Receiver, Sender};
use crate::{BrigadeFlags, Executor};

/// A brigade over links of one kind, compiled for an executor.
pub type Brigade<E> = fn(&BrigadeFlags, &E, &mut Run) -> Result<()>;

/// Builds a brigade, drives it, and takes it down; beside idle tasks if there are any.
pub fn brigade<R: Receiver, E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    run: &mut Run,
) -> Result<()> {
    let polls = PollCount::default();
    let _idle = start_idle::<R, E>(flags, executor, &polls).context("the idle tasks")?;
    let mut tasks = Vec::new();
    let driven = build::<R, E>(flags, ONE, executor, &mut tasks).and_then(|ends| {
        let ends = Arc::new(Mutex::new(ends));
        executor.drive(run, &|pass| Box::pin(drive(Arc::clone(&ends), flags.flags.tasks, pass)))
    });
    // The driver's ends are dropped now, and the end runs along the chain.
    let join = |(place, task)| (place, executor.join(task));
    tasks.into_iter().map(join).collect::<TaskResults>().into_result(driven, run.sent())?;
    polls.check(flags.chain.idle)
}

/// Starts idle tasks, each on a link of its own, both ends of which it has.
pub(crate) fn start_idle<R: Receiver, E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    polls: &PollCount,
) -> Result<Vec<E::Task<u64>>> {
    let mut tasks = Vec::new();
    let latch = StartLatch::new(flags.chain.idle);
    for _ in 0..flags.chain.idle {
        let (from, to) = R::link(flags.capacity());
        let task = boxed(polls.of(pass_on(from, to, latch.guard(None))));
        tasks.push(executor.spawn(task));
    }
    await_start(executor, latch)?;
    Ok(tasks)
}

fn await_start(executor: &impl Executor, mut latch: StartLatch) -> Result<()> {
    executor.join(executor.spawn(async move { runtime::wait_for(&mut latch).await }))
}

/// The first chain, and one round trip an iteration.
const ONE: (u32, u32) = (0, 1);

/// What the driver has: its ends of the chain and the tokens.
pub(crate) type Ends<R> = (R, <R as Receiver>::Sender, Tokens);

/// Builds a chain, waits until each task runs, and returns what the driver gets.
pub(crate) fn build<R: Receiver, E: Executor>(
    flags: &BrigadeFlags,
    (chain, trips): (u32, u32),
    executor: &E,
    tasks: &mut Vec<(u32, E::Task<u64>)>,
) -> Result<Ends<R>> {
    let mut backlog = flags.chain.backlog();
    let tokens = Tokens::new(&flags.chain, trips, backlog.clone());
    let faults = flags.fault.in_chain(chain, flags.flags.tasks);
    let latch = StartLatch::new(flags.flags.tasks);
    let link = || Ok(R::link(flags.capacity()));
    let mut builder = ChainBuilder::new(flags.flags.tasks, flags.chain.shuffle, link)?;
    while let Some(station) = builder.next_station()? {
        let (place, from, to) = (station.place, station.upstream, station.downstream);
        let fault = faults.of(place);
        let guard = latch.guard(fault);
        let backlog = if place == 0 { backlog.take() } else { None };
        let task = if backlog.is_none() && fault.is_none() && flags.chain.touch.0 == 0 {
            executor.spawn(pass_on(from, to, guard))
        } else {
            let source = TokenSource::new(backlog, fault);
            let memory = WorkingSet::new(flags.chain.touch);
            executor.spawn(boxed(work_and_pass_on((from, to), source, memory, guard)))
        };
        tasks.push((place, task));
    }
    await_start(executor, latch)?;
    let (last, first) = builder.driver_ends();
    Ok((last, first, tokens))
}

/// A task of any kind: spawning it is compiled once, and not for each link.
fn boxed(
    task: impl Future<Output = Result<u64>> + Send + 'static,
) -> Pin<Box<dyn Future<Output = Result<u64>> + Send>> {
    Box::pin(task)
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the link ends.
async fn pass_on<R: Receiver>(mut from: R, mut to: R::Sender, guard: StartGuard) -> Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let Some(token) = from.take().await {
        to.put(token + 1).await.map_err(|_| receiver_gone())?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with work, or with tokens that do not come from a link alone.
async fn work_and_pass_on<R: Receiver>(
    (mut from, mut to): (R, R::Sender),
    mut source: TokenSource,
    mut memory: WorkingSet,
    guard: StartGuard,
) -> Result<u64> {
    guard.started()?;
    let mut passed = 0;
    loop {
        let token = match source.next()? {
            Next::Token(token) => token,
            Next::Link => match from.take().await {
                Some(token) => source.arrived(token),
                None => return Ok(passed),
            },
            Next::End => return Ok(passed),
            Next::Never => pending().await,
        };
        memory.touch();
        to.put(token + 1).await.map_err(|_| receiver_gone())?;
        passed += 1;
    }
}

/// Error of a sender whose receiver is gone.
fn receiver_gone() -> Error {
    Error::new(ErrorKind::BrokenPipe, "the next task is gone")
}

/// The driver in one pass.
async fn drive<R: Receiver>(ends: Arc<Mutex<Ends<R>>>, tasks: u32, mut pass: Pass) -> Driven<()> {
    let ends = &mut *ends.lock().await;
    let result: Result<()> = async {
        while let Some(iteration) = pass.next_iteration() {
            let (begun, ended) = make_trips(ends, iteration).await?;
            pass.record(ended - begun);
            ends.2.verify(iteration, tasks)?;
        }
        Ok(())
    }
    .await;
    ((), pass, result)
}

/// The driver in an iteration: sends the tokens in, takes them out, and times that.
pub(crate) async fn make_trips<R: Receiver>(
    (last, first, tokens): &mut Ends<R>,
    iteration: u64,
) -> Result<Times> {
    let early = || anyhow!("the chain ended early");
    let (sent, trips) = tokens.set_out_trips(iteration);

    let begun = Instant::now();
    for trip in trips {
        for &token in &trip[..sent] {
            first.put(token).await.map_err(|_| early())?;
        }
        for token in trip {
            *token = last.take().await.ok_or_else(early)?;
        }
    }
    Ok((begun, Instant::now()))
}
