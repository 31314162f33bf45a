//! Producers and consumer are threads.

use std::io::{self, ErrorKind::BrokenPipe};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use anyhow::{Context, Result};
use brigade::{StartGuard, StartLatch, conclude, join};
use contract::Run;

use crate::{Cli, verify};

/// Builds the stream, drives it from this thread, which consumes, and takes it down.
pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let (shares, n) = (cli.shares(), cli.flags.tasks);
    let channel = || sync_channel(cli.capacity as usize);
    let mut latch = StartLatch::new(n + u32::from(cli.repeater));
    let (mut threads, mut starts) = (Vec::new(), Vec::new());
    let (to, mut messages) = channel();
    for share in shares.clone() {
        let ((start, started), to, guard) = (sync_channel(1), to.clone(), latch.guard()?);
        threads.push(cli.stack.spawn(n, move || produce(&started, &to, share, guard))?);
        starts.push(start);
    }
    drop(to);
    if cli.repeater {
        let ((to, last), guard) = (channel(), latch.guard()?);
        let from = std::mem::replace(&mut messages, last);
        threads.push(cli.stack.spawn(n, move || repeat(&from, &to, guard))?);
    }
    latch.wait()?;
    let driven = consume(cli, run, &starts, &messages, &shares);
    drop((starts, messages));
    let passed = threads.into_iter().map(|thread| Ok(join(thread)??));
    conclude(driven, passed, run.sent() * (1 + u64::from(cli.repeater)))
}

/// A producer: sends its share of each iteration.
fn produce(
    starts: &Receiver<usize>,
    to: &SyncSender<usize>,
    share: Range<usize>,
    guard: StartGuard,
) -> io::Result<u64> {
    guard.started();
    let mut sent = 0;
    for first in starts {
        for place in share.clone() {
            to.send(first + place).map_err(|_| BrokenPipe)?;
            sent += 1;
        }
    }
    Ok(sent)
}

/// The repeater: hands each message on.
fn repeat(from: &Receiver<usize>, to: &SyncSender<usize>, guard: StartGuard) -> io::Result<u64> {
    guard.started();
    let mut passed = 0;
    for message in from {
        to.send(message).map_err(|_| BrokenPipe)?;
        passed += 1;
    }
    Ok(passed)
}

/// The consumer: starts the producers, receives all messages, and times that.
fn consume(
    cli: &Cli,
    run: &mut Run,
    starts: &[SyncSender<usize>],
    messages: &Receiver<usize>,
    shares: &[Range<usize>],
) -> Result<()> {
    let mut received = vec![usize::MAX; cli.tokens as usize];
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let clock = Instant::now();
            for start in starts {
                start.send(iteration as usize).context("a producer is gone")?;
            }
            for place in &mut received {
                *place = messages.recv().context("the stream ended early")?;
            }
            pass.record(clock.elapsed());

            verify(iteration, &received, shares)?;
        }
        run.finish(pass)?;
    }
    Ok(())
}
