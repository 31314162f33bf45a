//! The loop: a chain of async tasks on io_uring, and the driver that times it.

use std::future::pending;
use std::io;
use std::slice;
use std::time::Instant;

use anyhow::{Context, Result};
use chain::{
    ByteTokens, ChainBuilder, ChainFlags, Misbehaviour, StartGuard, StartLatch, TaskResults,
};
use contract::{Pass, Run};

use crate::ring::{End, Ring, Task};

/// The tasks of a chain, with their places.
type Tasks = Vec<(u32, Task<Result<u64>>)>;

/// The end to read from, and the end to write to.
type Ends = (Reader, End);

/// Builds the chain, drives it, and takes it down.
pub(crate) fn brigade(flags: &ChainFlags, ring: &Ring, run: &mut Run) -> Result<()> {
    let mut tasks = Tasks::new();
    let driven = build(flags, ring, &mut tasks).and_then(|mut ends| {
        while let Some(mut pass) = run.next_pass()? {
            let driver = ring.spawn(drive(flags.clone(), ends, pass));
            let result;
            (ends, pass, result) = ring.join(driver)?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
    });
    // The driver's ends are closed now, and the end of file runs along the chain.
    let results = tasks.into_iter().map(|(place, task)| (place, ring.join(task).flatten()));
    results.collect::<TaskResults>().into_result(driven, run.sent())
}

/// Builds a chain, waits until each task runs, and returns the driver's ends.
fn build(flags: &ChainFlags, ring: &Ring, tasks: &mut Tasks) -> Result<Ends> {
    let count = flags.tasks();
    let mut latch = StartLatch::new(count);
    let mut builder = ChainBuilder::new(count, || {
        let (reader, writer) = flags.transport.descriptors()?;
        Ok((ring.end(reader)?, ring.end(writer)?))
    })?;
    while let Some(station) = builder.next_station()? {
        let fault = flags.fault.of((0, count), station.place);
        let from =
            Reader { end: station.upstream, fault: fault.map(Misbehaviour::new).map(Box::new) };
        let task = pass_on(from, station.downstream, latch.guard(fault));
        tasks.push((station.place, ring.spawn(task)));
    }
    while !latch.is_open()? {
        ring.run_ready();
    }
    let (last, first) = builder.driver_ends();
    Ok((Reader { end: last, fault: None }, first))
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the end of file.
async fn pass_on(mut from: Reader, mut to: End, guard: StartGuard) -> Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while let Some(token) = from.read().await? {
        to.write(token.wrapping_add(1)).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive(
    flags: ChainFlags,
    (mut last, mut first): Ends,
    mut pass: Pass,
) -> (Ends, Pass, Result<()>) {
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
struct Reader {
    end: End,
    fault: Option<Box<Misbehaviour>>,
}

impl Reader {
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
