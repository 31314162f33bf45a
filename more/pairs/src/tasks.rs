//! Pairs of async tasks.

use std::io::{self, ErrorKind::BrokenPipe};
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use brigade::{LinkFlags, StartGuard, StartLatch, Transport};
use runtime::{AsyncReader, AsyncWriter, Flavor, join, link, wait_for};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

use crate::{Cli, Driver, Over, Pair, Times};

type Tasks = Vec<JoinHandle<io::Result<u64>>>;

/// Builds all pairs: on one multi-thread runtime, or each on a current-thread runtime of its own.
pub(crate) fn pairs(cli: &Cli) -> Result<Vec<Pair>> {
    let build = || cli.runtime.build(|builder| builder.enable_io()).map(Arc::new);
    let shared = (cli.runtime.flavor == Flavor::MultiThread).then(build).transpose()?;
    let runtime = || shared.as_ref().map_or_else(build, |runtime| Ok(Arc::clone(runtime)));
    (0..cli.chains).map(|_| pair(cli, runtime()?)).collect()
}

/// Builds a pair, and waits until each partner runs.
fn pair(cli: &Cli, runtime: Arc<Runtime>) -> Result<Pair> {
    let (n, mut tasks) = (cli.flags.tasks, Tasks::new());
    let links = LinkFlags { chain: cli.pair(), transport: Transport::Pipe };
    let driver = match cli.over {
        Over::Pipe => {
            let build = build(n, || link(&links), pass_bytes, &mut tasks);
            driver(cli, &runtime, runtime.block_on(build)?, over_pipes)
        }
        Over::Memory => {
            let link = || {
                let (to, from) = channel(1);
                Ok((from, to))
            };
            let build = build(n, link, pass_numbers, &mut tasks);
            driver(cli, &runtime, runtime.block_on(build)?, over_channels)
        }
    };
    let partners = move || tasks.into_iter().map(|task| runtime.block_on(join(task))).collect();
    Ok(Pair { driver, partners: Box::new(partners) })
}

/// Joins the partners by links. Returns the driver's ends.
async fn build<R, W, F: Future<Output = io::Result<u64>> + Send + 'static>(
    n: u32,
    link: impl Fn() -> Result<(R, W)>,
    pass_on: fn(R, W, StartGuard) -> F,
    tasks: &mut Tasks,
) -> Result<(W, R)> {
    let mut latch = StartLatch::new(n);
    let (mut last, first) = link()?;
    for _ in 0..n {
        let (reader, to) = link()?;
        tasks.push(tokio::spawn(pass_on(mem::replace(&mut last, reader), to, latch.guard())));
    }
    wait_for(&mut latch).await?;
    Ok((first, last))
}

/// A driver that makes the round trips of an iteration in an async task, which gives its ends back.
fn driver<E: Send + 'static, F: Future<Output = Result<(E, Times)>> + Send + 'static>(
    cli: &Cli,
    runtime: &Arc<Runtime>,
    ends: E,
    make_trips: fn(E, Range<u64>, u32) -> F,
) -> Driver {
    let (partners, trips, runtime) = (cli.flags.tasks, cli.trips, Arc::clone(runtime));
    let mut ends = Some(ends);
    Box::new(move |iteration| {
        let set_out = ends.take().context("the driver has failed before")?;
        let task = make_trips(set_out, iteration..iteration + u64::from(trips), partners);
        let (back, times) = runtime.block_on(join(runtime.spawn(task)))?;
        ends = Some(back);
        Ok(times)
    })
}

/// A partner: takes a byte, adds one, and hands it on, until the end of file.
async fn pass_bytes(
    mut from: AsyncReader,
    mut to: AsyncWriter,
    guard: StartGuard,
) -> io::Result<u64> {
    guard.started();
    let (mut passed, mut byte) = (0, [0]);
    while from.read(&mut byte).await? == 1 {
        byte[0] = byte[0].wrapping_add(1);
        to.write_all(&byte).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with a number in memory.
async fn pass_numbers(
    mut from: Receiver<usize>,
    to: Sender<usize>,
    guard: StartGuard,
) -> io::Result<u64> {
    guard.started();
    let mut passed = 0;
    while let Some(ref number) = from.recv().await {
        to.send(number + 1).await.map_err(|_| BrokenPipe)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver's round trips, with a check of what came back of each.
async fn over_pipes(
    (mut first, mut last): (AsyncWriter, AsyncReader),
    numbers: Range<u64>,
    partners: u32,
) -> Result<((AsyncWriter, AsyncReader), Times)> {
    let mut byte = [0];
    let begun = Instant::now();
    for number in numbers {
        first.write_all(&[number as u8]).await?;
        last.read_exact(&mut byte).await.context("the chain ended early")?;
        let expected = (number as u8).wrapping_add(partners as u8);
        ensure!(byte[0] == expected, "{} came back, expected {expected}", byte[0]);
    }
    Ok(((first, last), (begun, Instant::now())))
}

/// The same in memory.
async fn over_channels(
    (first, mut last): (Sender<usize>, Receiver<usize>),
    numbers: Range<u64>,
    partners: u32,
) -> Result<((Sender<usize>, Receiver<usize>), Times)> {
    let begun = Instant::now();
    for number in numbers {
        first.send(number as usize).await.ok().context("the chain ended early")?;
        let back = last.recv().await.context("the chain ended early")?;
        let expected = number as usize + partners as usize;
        ensure!(back == expected, "{back} came back, expected {expected}");
    }
    let ended = Instant::now();
    Ok(((first, last), (begun, ended)))
}
