//! The loop: a chain of async tasks on io_uring, and the driver that times it. The executor is what is measured, so it
//! is compiled for each.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::slice;
use std::time::Instant;

use anyhow::{Context, Result};
use chain::{
    ByteTokens, ChainBuilder, ChainFlags, Misbehaviour, StartGuard, StartLatch, TaskResults,
};
use contract::{Pass, Run};

/// Runs tasks on one thread.
pub trait Executor {
    /// A task that was spawned. It may end if this is dropped.
    type Task<T>;
    /// End of a link.
    type End: End;

    /// End of a link with this blocking descriptor.
    fn end(&self, fd: OwnedFd) -> io::Result<Self::End>;

    /// Starts a task.
    fn spawn<T: 'static>(&self, task: impl Future<Output = T> + 'static) -> Self::Task<T>;

    /// Runs tasks that are ready.
    fn run_ready(&self);

    /// Runs tasks until this one has ended; one that panicked is an error.
    fn join<T: 'static>(&self, task: Self::Task<T>) -> Result<T>;
}

/// End of a link.
pub trait End: 'static {
    /// Reads a token; `None` at the end of file.
    fn read(&mut self) -> impl Future<Output = io::Result<Option<u8>>>;

    /// Writes a token.
    fn write(&mut self, token: u8) -> impl Future<Output = io::Result<()>>;
}

/// The tasks of a chain, with their places.
type Tasks<E> = Vec<(u32, <E as Executor>::Task<Result<u64>>)>;

/// The end to read from, and the end to write to.
type Ends<D> = (Reader<D>, D);

/// Builds the chain, drives it, and takes it down.
pub fn brigade<E: Executor>(flags: &ChainFlags, executor: &E, run: &mut Run) -> Result<()> {
    let mut tasks = Tasks::<E>::new();
    let driven = build(flags, executor, &mut tasks).and_then(|mut ends| {
        while let Some(mut pass) = run.next_pass()? {
            let driver = executor.spawn(drive(flags.clone(), ends, pass));
            let result;
            (ends, pass, result) = executor.join(driver)?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
    });
    // The driver's ends are closed now, and the end of file runs along the chain.
    let results = tasks.into_iter().map(|(place, task)| (place, executor.join(task).flatten()));
    results.collect::<TaskResults>().into_result(driven, run.sent())
}

/// Builds a chain, waits until each task runs, and returns the driver's ends.
fn build<E: Executor>(
    flags: &ChainFlags,
    executor: &E,
    tasks: &mut Tasks<E>,
) -> Result<Ends<E::End>> {
    let count = flags.tasks();
    let mut latch = StartLatch::new(count);
    let mut builder = ChainBuilder::new(count, flags.shuffle, || {
        let (reader, writer) = flags.transport.descriptors()?;
        Ok((executor.end(reader)?, executor.end(writer)?))
    })?;
    while let Some(station) = builder.next_station()? {
        let fault = flags.fault.of((0, count), station.place);
        let from =
            Reader { end: station.upstream, fault: fault.map(Misbehaviour::new).map(Box::new) };
        let task = pass_on(from, station.downstream, latch.guard(fault));
        tasks.push((station.place, executor.spawn(task)));
    }
    while !latch.is_open()? {
        executor.run_ready();
    }
    let (last, first) = builder.driver_ends();
    Ok((Reader { end: last, fault: None }, first))
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the end of file.
async fn pass_on<D: End>(mut from: Reader<D>, mut to: D, guard: StartGuard) -> Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let Some(token) = from.read().await? {
        to.write(token.wrapping_add(1)).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive<D: End>(
    flags: ChainFlags,
    (mut last, mut first): Ends<D>,
    mut pass: Pass,
) -> (Ends<D>, Pass, Result<()>) {
    let result = async {
        let mut tokens = ByteTokens::new(&flags, 1);
        while let Some(iteration) = pass.next_iteration() {
            let trip = tokens.set_out(iteration);

            let clock = Instant::now();
            for &token in &*trip {
                first.write(token).await?;
            }
            for token in trip {
                *token = last.read().await?.context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration, flags.tasks())?;
        }
        Ok(())
    }
    .await;
    ((last, first), pass, result)
}

/// End that a task reads from, with the fault that a test asks for.
struct Reader<D> {
    end: D,
    fault: Option<Box<Misbehaviour>>,
}

impl<D: End> Reader<D> {
    /// Reads a token; `None` at the end of file.
    async fn read(&mut self) -> io::Result<Option<u8>> {
        if let Some(fault) = &mut self.fault {
            if fault.hangs() {
                return pending().await;
            }
            fault.before_read()?;
            if fault.closes() {
                return Ok(None);
            }
        }
        let mut token = self.end.read().await?;
        if let (Some(fault), Some(token)) = (&mut self.fault, &mut token) {
            fault.after_read(slice::from_mut(token));
        }
        Ok(token)
    }
}
