//! The loop: a chain of tasks, and the driver that times it.
//!
//! The links and the executor are what is measured, so it is compiled for each pair of them by itself:
//! once for numbers alone, and once for tokens of any size, with work.

use std::io::{self, ErrorKind};
use std::mem;
use std::pin::Pin;
use std::time::Instant;

use anyhow::Context;
use chain::{
    Backlog, Buffer, ChainBuilder, MemoryToken, StartGuard, StartLatch, Station, TaskResults,
    Tokens, WorkingSet,
};
use contract::{Pass, Run};
use runtime::Driven;
use tokio::task::yield_now;

use crate::links::{Link, Put, Take};
use crate::special::{Special, WithBacklog};
use crate::{BrigadeFlags, Executor};

/// A loop that is compiled for an executor and a kind of link.
pub type Measure<E> = fn(&BrigadeFlags, &E, &mut Run) -> anyhow::Result<()>;

/// Builds a brigade, has it driven, and takes it down.
///
/// # Errors
/// The first true cause of what went wrong.
pub fn measure<L: Link<usize> + Link<Buffer>, E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    run: &mut Run,
) -> anyhow::Result<()> {
    match flags.is_plain() {
        true => brigade::<usize, L, E>(flags, executor, run, start_numbers),
        false => brigade::<Buffer, L, E>(flags, executor, run, start_tokens),
    }
}

/// A task of the chain, as its executor has it.
type TaskOf<E> = <E as Executor>::Task<anyhow::Result<u64>>;

/// Starts the task of a station.
type Start<M, L, E> = fn(
    &BrigadeFlags,
    &E,
    Station<<L as Link<M>>::Receiver, <L as Link<M>>::Sender>,
    Option<&Backlog<M>>,
    StartGuard,
) -> TaskOf<E>;

fn brigade<M: MemoryToken, L: Link<M>, E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    run: &mut Run,
    start: Start<M, L, E>,
) -> anyhow::Result<()> {
    let backlog = flags.chain.backlog();
    let tokens = Tokens::new(&flags.chain, backlog.clone());
    let mut tasks = Vec::new();
    let built = executor.block_on(build::<M, L, E>(
        flags,
        executor,
        start,
        backlog.as_ref(),
        &mut tasks,
    ));
    let driven = built.and_then(|ends| {
        executor.drive(run, (ends, tokens), |(ends, tokens), pass| {
            drive(ends, tokens, pass, flags.flags.tasks)
        })
    });
    // The driver's ends are dropped now, and the end runs along the chain.
    let mut results = TaskResults::default();
    for (place, task) in tasks {
        results.add(place, executor.block_on(executor.join(task)));
    }
    results.into_result(driven, run.iterations() * u64::from(flags.chain.tokens))
}

/// Builds the chain, waits until each task runs, and returns the driver's ends.
async fn build<M: MemoryToken, L: Link<M>, E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    start: Start<M, L, E>,
    backlog: Option<&Backlog<M>>,
    tasks: &mut Vec<(u32, TaskOf<E>)>,
) -> anyhow::Result<(L::Sender, L::Receiver)> {
    let mut latch = StartLatch::new(flags.flags.tasks);
    let link = || {
        let (sender, receiver) = L::link(flags.capacity());
        Ok((receiver, sender))
    };
    let mut builder = ChainBuilder::new(flags.flags.tasks, flags.chain.shuffle, link)?;
    while let Some(station) = builder.next_station()? {
        let place = station.place;
        let guard = latch.guard(flags.fault.of(place));
        let backlog = backlog.filter(|_| place == 0);
        tasks.push((place, start(flags, executor, station, backlog, guard)));
    }
    while !latch.is_open()? {
        yield_now().await;
    }
    Ok(builder.driver_ends())
}

fn start_numbers<E: Executor>(
    _: &BrigadeFlags,
    executor: &E,
    station: Station<impl Take<usize>, impl Put<usize>>,
    backlog: Option<&Backlog<usize>>,
    guard: StartGuard,
) -> TaskOf<E> {
    let (from, to) = (station.upstream, station.downstream);
    match backlog {
        None => executor.spawn(pass_numbers(from, to, guard)),
        Some(backlog) => executor.spawn(pass_numbers(WithBacklog::new(from, backlog), to, guard)),
    }
}

fn start_tokens<E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    station: Station<impl Take<Buffer>, impl Put<Buffer>>,
    backlog: Option<&Backlog<Buffer>>,
    guard: StartGuard,
) -> TaskOf<E> {
    let fault = flags.fault.of(station.place);
    let from = Special::new(station.upstream, backlog, fault);
    let memory = WorkingSet::new(flags.chain.touch);
    executor.spawn(boxed(pass_tokens(from, station.downstream, memory, guard)))
}

/// A task as executors have it in any case: spawning is then compiled once, and not for each link.
fn boxed<T>(
    task: impl Future<Output = T> + Send + 'static,
) -> Pin<Box<dyn Future<Output = T> + Send>> {
    Box::pin(task)
}

/// A task of the chain: takes a number, adds one, hands it on, until the link ends.
async fn pass_numbers(
    mut from: impl Take<usize>,
    mut to: impl Put<usize>,
    guard: StartGuard,
) -> anyhow::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let Some(number) = from.take().await {
        to.put(number.passed()).await.map_err(ended)?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with tokens of any size, and with work.
async fn pass_tokens(
    mut from: Special<impl Take<Buffer>>,
    mut to: impl Put<Buffer>,
    mut memory: WorkingSet,
    guard: StartGuard,
) -> anyhow::Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let Some(token) = from.take().await? {
        memory.touch();
        to.put(token.passed()).await.map_err(ended)?;
        passed += 1;
    }
    Ok(passed)
}

/// Error of a sender whose receiver is gone.
fn ended<E>(_: E) -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the next task is gone")
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive<M: MemoryToken, R: Take<M>, S: Put<M>>(
    (mut first, mut last): (S, R),
    mut tokens: Tokens<M>,
    mut pass: Pass,
    tasks: u32,
) -> Driven<((S, R), Tokens<M>)> {
    let result = async {
        while let Some(iteration) = pass.next_iteration() {
            let (sent, all) = tokens.set_out(iteration);

            let clock = Instant::now();
            for token in &mut all[..sent] {
                first
                    .put(mem::take(token))
                    .await
                    .context("the chain ended early")?;
            }
            for token in all {
                *token = last.take().await.context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration, tasks)?;
        }
        Ok(())
    };
    let result = result.await;
    (((first, last), tokens), pass, result)
}
