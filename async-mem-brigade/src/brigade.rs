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
    Backlog, Buffer, ChainBuilder, Injector, MemoryFlags, MemoryToken, PollCount, StartGuard,
    StartLatch, Station, TaskResults, Tokens, WorkingSet,
};
use contract::{Pass, Run};
use runtime::Driven;
use tokio::task::yield_now;

use crate::links::{Link, Put, Take};
use crate::special::{Special, WithBacklog};
use crate::{BrigadeFlags, Executor};

/// A loop that is compiled for an executor and a kind of link.
pub type Measure<E> = fn(&BrigadeFlags, &E, &mut Run) -> anyhow::Result<()>;

/// Builds a brigade, has it driven, and takes it down; beside a chain of idle tasks where there are any.
///
/// # Errors
/// The first true cause of what went wrong.
pub fn measure<L: Link<usize> + Link<Buffer>, E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    run: &mut Run,
) -> anyhow::Result<()> {
    let build: Build<E> = match flags.is_plain() {
        true => |flags, executor, idle, tasks| {
            Box::pin(build::<usize, L, E>(flags, executor, start_numbers, idle, tasks))
        },
        false => |flags, executor, idle, tasks| {
            Box::pin(build::<Buffer, L, E>(flags, executor, start_tokens, idle, tasks))
        },
    };
    match flags.chain.idle {
        0 => brigade(flags, executor, run, build),
        _ => beside_idle(flags, executor, run, build),
    }
}

/// The tasks of a chain, as their executor has them, with their places.
type Tasks<E> = Vec<(u32, TaskOf<E>)>;

type TaskOf<E> = <E as Executor>::Task<anyhow::Result<u64>>;

/// Builds a chain: the brigade's, or that of the idle tasks, whose polls are counted.
type Build<E> = for<'a> fn(
    &'a BrigadeFlags,
    &'a E,
    Option<&'a PollCount>,
    &'a mut Tasks<E>,
) -> Pin<Box<dyn Future<Output = anyhow::Result<Box<dyn Drive>>> + 'a>>;

/// Starts the task of a station.
type Start<M, L, E> = fn(
    &BrigadeFlags,
    &E,
    Station<<L as Link<M>>::Receiver, <L as Link<M>>::Sender>,
    Kind<'_, M>,
    StartGuard,
) -> TaskOf<E>;

/// Kind of a task.
enum Kind<'a, M> {
    /// It takes what it is sent.
    Plain,
    /// The first one, which takes a backlog besides.
    WithBacklog(&'a Backlog<M>),
    /// It is sent nothing.
    Idle(&'a PollCount),
}

fn beside_idle<E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    run: &mut Run,
    build: Build<E>,
) -> anyhow::Result<()> {
    let (mut idle, polls) = (Vec::new(), PollCount::default());
    let built = executor.block_on(build(flags, executor, Some(&polls), &mut idle));
    let slept = built.context("the idle tasks").and_then(|_ends| {
        brigade(flags, executor, run, build)?;
        polls.check(flags.chain.idle)
    });
    join(executor, idle).into_idle_result(slept)
}

fn brigade<E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    run: &mut Run,
    build: Build<E>,
) -> anyhow::Result<()> {
    let mut tasks = Vec::new();
    let built = executor.block_on(build(flags, executor, None, &mut tasks));
    let driven = built.and_then(|driver| executor.drive(run, driver, <dyn Drive>::drive));
    // The driver's ends are dropped now, and the end runs along the chain.
    join(executor, tasks).into_result(driven, run.sent())
}

fn join<E: Executor>(executor: &E, tasks: Tasks<E>) -> TaskResults {
    let join = |(place, task)| (place, executor.block_on(executor.join(task)));
    tasks.into_iter().map(join).collect()
}

/// Builds a chain, waits until each task runs, and returns the driver, which has its ends.
async fn build<M: MemoryToken, L: Link<M>, E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    start: Start<M, L, E>,
    idle: Option<&PollCount>,
    tasks: &mut Tasks<E>,
) -> anyhow::Result<Box<dyn Drive>> {
    let (count, chain) = match idle {
        None => (flags.flags.tasks, flags.chain),
        Some(_) => {
            (flags.chain.idle, MemoryFlags { tokens: 0, feed: Injector::Driver, ..flags.chain })
        }
    };
    let backlog = chain.backlog();
    let mut latch = StartLatch::new(count);
    let link = || {
        let (sender, receiver) = L::link(flags.capacity());
        Ok((receiver, sender))
    };
    let mut builder = ChainBuilder::new(count, chain.shuffle, link)?;
    while let Some(station) = builder.next_station()? {
        let place = station.place;
        let guard = latch.guard(flags.fault.of(place));
        let kind = match (idle, &backlog) {
            (Some(polls), _) => Kind::Idle(polls),
            (None, Some(backlog)) if place == 0 => Kind::WithBacklog(backlog),
            _ => Kind::Plain,
        };
        tasks.push((place, start(flags, executor, station, kind, guard)));
    }
    while !latch.is_open()? {
        yield_now().await;
    }
    let (last, first) = builder.driver_ends();
    let tokens = Tokens::new(&chain, backlog);
    Ok(Box::new(Driver { first, last, tokens, tasks: count }))
}

fn start_numbers<E: Executor>(
    _: &BrigadeFlags,
    executor: &E,
    station: Station<impl Take<usize>, impl Put<usize>>,
    kind: Kind<'_, usize>,
    guard: StartGuard,
) -> TaskOf<E> {
    let (from, to) = (station.upstream, station.downstream);
    match kind {
        Kind::Plain => executor.spawn(pass_numbers(from, to, guard)),
        Kind::WithBacklog(backlog) => {
            let from = WithBacklog::new(from, backlog);
            executor.spawn(boxed(pass_numbers(from, to, guard)))
        }
        Kind::Idle(polls) => executor.spawn(boxed(polls.of(pass_numbers(from, to, guard)))),
    }
}

fn start_tokens<E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    station: Station<impl Take<Buffer>, impl Put<Buffer>>,
    kind: Kind<'_, Buffer>,
    guard: StartGuard,
) -> TaskOf<E> {
    let fault = flags.fault.of(station.place);
    let (backlog, polls) = match kind {
        Kind::Plain => (None, None),
        Kind::WithBacklog(backlog) => (Some(backlog), None),
        Kind::Idle(polls) => (None, Some(polls)),
    };
    let from = Special::new(station.upstream, backlog, fault);
    let memory = WorkingSet::new(flags.chain.touch);
    let task = boxed(pass_tokens(from, station.downstream, memory, guard));
    executor.spawn(match polls {
        None => task,
        Some(polls) => boxed(polls.of(task)),
    })
}

/// A future of any kind: spawning it is compiled once, and not for each link.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

fn boxed<T>(task: impl Future<Output = T> + Send + 'static) -> Boxed<T> {
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

/// The driver of a chain of any links: it is spawned for each pass, and its ends stay with it.
pub(crate) trait Drive: Send {
    /// Sends the tokens in, takes them out, and times that.
    fn drive(self: Box<Self>, pass: Pass) -> Boxed<Driven<Box<dyn Drive>>>;
}

struct Driver<M, S, R> {
    first: S,
    last: R,
    tokens: Tokens<M>,
    tasks: u32,
}

impl<M: MemoryToken, S: Put<M>, R: Take<M>> Drive for Driver<M, S, R> {
    fn drive(mut self: Box<Self>, mut pass: Pass) -> Boxed<Driven<Box<dyn Drive>>> {
        Box::pin(async move {
            let result = self.iterate(&mut pass).await;
            (self as Box<dyn Drive>, pass, result)
        })
    }
}

impl<M: MemoryToken, S: Put<M>, R: Take<M>> Driver<M, S, R> {
    async fn iterate(&mut self, pass: &mut Pass) -> anyhow::Result<()> {
        while let Some(iteration) = pass.next_iteration() {
            let (sent, all) = self.tokens.set_out(iteration);

            let clock = Instant::now();
            for token in &mut all[..sent] {
                let put = self.first.put(mem::take(token)).await;
                put.context("the chain ended early")?;
            }
            for token in all {
                *token = self.last.take().await.context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            self.tokens.verify(iteration, self.tasks)?;
        }
        Ok(())
    }
}
