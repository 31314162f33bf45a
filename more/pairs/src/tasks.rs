//! Pairs of async tasks.

use std::io::{self, ErrorKind::BrokenPipe};
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use brigade::{LinkFlags, StartGuard, StartLatch, Tokens, Transport};
use runtime::{AsyncReader, AsyncWriter, DriverKind, Flavor, join, link, wait_for};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

use crate::{Cli, DriveTrips, Over, Pair, Times};

type Tasks = Vec<JoinHandle<io::Result<u64>>>;

/// A driver's ends, and the numbers of its round trips.
struct Ends<R, W, T> {
    first: W,
    last: R,
    tokens: Tokens<T>,
}

/// What a driver gives back after an iteration.
type Driven<R, W, T> = Result<(Ends<R, W, T>, Times)>;

/// Builds all pairs: on one multi-thread runtime, or each on a current-thread runtime of its own.
pub(crate) fn pairs(cli: &Cli) -> Result<Vec<Pair>> {
    // With an I/O driver the scheduler would call epoll_wait.
    let build = || match cli.over {
        Over::Pipe => cli.runtime.build(|builder| builder.enable_io()).map(Arc::new),
        Over::Memory => cli.runtime.build(|builder| builder).map(Arc::new),
    };
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
            let (first, last) = runtime.block_on(build)?;
            driver(&runtime, cli.driver, Ends { first, last, tokens: cli.numbers() }, over_pipes)
        }
        Over::Memory => {
            let link = || {
                let (to, from) = channel(1);
                Ok((from, to))
            };
            let build = build(n, link, pass_numbers, &mut tasks);
            let (first, last) = runtime.block_on(build)?;
            driver(&runtime, cli.driver, Ends { first, last, tokens: cli.numbers() }, over_channels)
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
        tasks.push(tokio::spawn(pass_on(mem::replace(&mut last, reader), to, latch.guard()?)));
    }
    wait_for(&mut latch).await?;
    Ok((first, last))
}

/// A driver that makes the round trips of an iteration in a future, which gives its ends back.
fn driver<E: Send + 'static, F: Future<Output = Result<(E, Times)>> + Send + 'static>(
    runtime: &Arc<Runtime>,
    kind: DriverKind,
    ends: E,
    make_trips: fn(E, u64) -> F,
) -> DriveTrips {
    let (runtime, mut ends) = (Arc::clone(runtime), Some(ends));
    Box::new(move |iteration| {
        let set_out = ends.take().context("the driver has failed before")?;
        let trips = make_trips(set_out, iteration);
        let (back, times) = match kind {
            DriverKind::Spawned => runtime.block_on(join(runtime.spawn(trips))),
            DriverKind::BlockOn => runtime.block_on(trips),
        }?;
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

/// The driver in one iteration: makes its round trips, times them, and checks what came back.
async fn over_pipes(
    mut ends: Ends<AsyncReader, AsyncWriter, u8>,
    iteration: u64,
) -> Driven<AsyncReader, AsyncWriter, u8> {
    let bytes = ends.tokens.set_out(iteration);

    let begun = Instant::now();
    for byte in bytes.chunks_mut(1) {
        ends.first.write_all(byte).await?;
        ends.last.read_exact(byte).await.context("the chain ended early")?;
    }
    let ended = Instant::now();

    ends.tokens.verify(iteration)?;
    Ok((ends, (begun, ended)))
}

/// The same in memory.
async fn over_channels(
    mut ends: Ends<Receiver<usize>, Sender<usize>, usize>,
    iteration: u64,
) -> Driven<Receiver<usize>, Sender<usize>, usize> {
    let numbers = ends.tokens.set_out(iteration);

    let begun = Instant::now();
    for number in numbers {
        ends.first.send(*number).await.ok().context("the chain ended early")?;
        *number = ends.last.recv().await.context("the chain ended early")?;
    }
    let ended = Instant::now();

    ends.tokens.verify(iteration)?;
    Ok((ends, (begun, ended)))
}
