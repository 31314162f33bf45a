//! Producers and consumer are async tasks.

use std::io::{self, ErrorKind::BrokenPipe};
use std::ops::Range;
use std::time::Instant;

use anyhow::{Context, Result};
use brigade::{StartGuard, StartLatch, conclude};
use contract::{Pass, Run};
use runtime::{join, wait_for};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

use crate::{Cli, Consumer, verify};

/// Builds the stream, drives it by its consumer, and takes it down.
pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let runtime = cli.runtime.build(|builder| builder)?;
    let mut tasks = Vec::new();
    let driven = runtime.block_on(build(cli, &mut tasks)).and_then(|mut ends| {
        while let Some(mut pass) = run.next_pass()? {
            let consumer = consume(ends, pass);
            (ends, pass) = match cli.consumer {
                Consumer::Task => runtime.block_on(join(runtime.spawn(consumer)))?,
                Consumer::BlockOn => runtime.block_on(consumer)?,
            };
            run.finish(pass)?;
        }
        Ok(())
    });
    // The consumer's ends are gone now, and all tasks end.
    let passed = tasks.into_iter().map(|task| runtime.block_on(join(task)));
    conclude(driven, passed, run.sent() * (1 + u64::from(cli.repeater)))
}

/// The consumer's ends of the stream.
struct Ends {
    starts: Vec<Sender<usize>>,
    messages: Receiver<usize>,
    received: Vec<usize>,
    shares: Vec<Range<usize>>,
}

/// Builds the stream, and waits until each task runs.
async fn build(cli: &Cli, tasks: &mut Vec<JoinHandle<io::Result<u64>>>) -> Result<Ends> {
    let shares = cli.shares();
    let mut latch = StartLatch::new(cli.flags.tasks + u32::from(cli.repeater));
    let mut starts = Vec::new();
    let (to, mut messages) = channel(cli.capacity as usize);
    for share in shares.clone() {
        let (start, started) = channel(1);
        tasks.push(tokio::spawn(produce(started, to.clone(), share, latch.guard()?)));
        starts.push(start);
    }
    drop(to);
    if cli.repeater {
        let (to, last) = channel(cli.capacity as usize);
        let from = std::mem::replace(&mut messages, last);
        tasks.push(tokio::spawn(repeat(from, to, latch.guard()?)));
    }
    wait_for(&mut latch).await?;
    // Written, so that it is resident before anything is timed.
    let received = vec![usize::MAX; cli.tokens as usize];
    Ok(Ends { starts, messages, received, shares })
}

/// A producer: sends its share of each iteration.
async fn produce(
    mut starts: Receiver<usize>,
    to: Sender<usize>,
    share: Range<usize>,
    guard: StartGuard,
) -> io::Result<u64> {
    guard.started();
    let mut sent = 0;
    while let Some(first) = starts.recv().await {
        for place in share.clone() {
            to.send(first + place).await.map_err(|_| BrokenPipe)?;
            sent += 1;
        }
    }
    Ok(sent)
}

/// The repeater: hands each message on.
async fn repeat(
    mut from: Receiver<usize>,
    to: Sender<usize>,
    guard: StartGuard,
) -> io::Result<u64> {
    guard.started();
    let mut passed = 0;
    while let Some(ref message) = from.recv().await {
        to.send(*message).await.map_err(|_| BrokenPipe)?;
        passed += 1;
    }
    Ok(passed)
}

/// The consumer in one pass: starts the producers, receives all messages, and times that.
async fn consume(mut ends: Ends, mut pass: Pass) -> Result<(Ends, Pass)> {
    let Ends { starts, messages, received, shares } = &mut ends;
    while let Some(iteration) = pass.next_iteration() {
        let clock = Instant::now();
        for start in &*starts {
            start.send(iteration as usize).await.ok().context("a producer is gone")?;
        }
        for place in &mut *received {
            *place = messages.recv().await.context("the stream ended early")?;
        }
        pass.record(clock.elapsed());

        verify(iteration, received, shares)?;
    }
    Ok((ends, pass))
}
