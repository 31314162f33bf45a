//! A pair of threads.

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem;
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result};
use brigade::{FutexReceiver, FutexSender, StartLatch, Tokens, Transport, futex_link, join, pin};

use crate::{Cli, DriveTrips, Over, Pair};

type Threads = Vec<JoinHandle<io::Result<u64>>>;

/// Builds a pair on this CPU, unless the kernel decides, and waits until each partner runs.
pub(crate) fn pair(cli: &Cli, cpu: Option<usize>) -> Result<Pair> {
    let n = cli.flags.tasks;
    let (mut latch, mut threads) = (StartLatch::new(n), Threads::new());
    let driver = match cli.over {
        Over::Pipe => {
            let link = || Transport::Pipe.link(n);
            let (first, last) = build(cli, cpu, &latch, &mut threads, link, pass_bytes)?;
            over_pipes(first, last, cli.numbers())
        }
        Over::Memory => {
            let link = || Ok(futex_link());
            let (first, last) = build(cli, cpu, &latch, &mut threads, link, pass_numbers)?;
            over_futexes(first, last, cli.numbers())
        }
    };
    latch.wait()?;
    let results = threads.into_iter().map(|thread| Ok(join(thread)??));
    Ok(Pair { driver, partners: Box::new(|| results.collect()) })
}

/// Joins the partners by links. Returns the driver's ends.
fn build<R: Send + 'static, W: Send + 'static>(
    cli: &Cli,
    cpu: Option<usize>,
    latch: &StartLatch,
    threads: &mut Threads,
    link: impl Fn() -> Result<(R, W)>,
    pass_on: fn(R, W) -> io::Result<u64>,
) -> Result<(W, R)> {
    let (mut last, first) = link()?;
    for _ in 0..cli.flags.tasks {
        let (reader, to) = link()?;
        let (from, guard) = (mem::replace(&mut last, reader), latch.guard()?);
        threads.push(cli.stack.spawn(cli.flags.tasks, move || {
            pin(cpu)?;
            guard.started();
            pass_on(from, to)
        })?);
    }
    Ok((first, last))
}

/// A partner: takes a byte, adds one, and hands it on, until the end of file.
fn pass_bytes(mut from: File, mut to: File) -> io::Result<u64> {
    let (mut passed, mut byte) = (0, [0]);
    while from.read(&mut byte)? == 1 {
        byte[0] = byte[0].wrapping_add(1);
        to.write_all(&byte)?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with a number in memory.
fn pass_numbers(from: FutexReceiver, mut to: FutexSender) -> io::Result<u64> {
    let mut passed = 0;
    for number in from {
        to.put(number + 1)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: makes the round trips of an iteration, times them, and checks what came back.
fn over_pipes(mut first: File, mut last: File, mut tokens: Tokens<u8>) -> DriveTrips {
    Box::new(move |iteration| {
        let bytes = tokens.set_out(iteration);

        let begun = Instant::now();
        for byte in bytes.chunks_mut(1) {
            first.write_all(byte)?;
            last.read_exact(byte).context("the chain ended early")?;
        }
        let ended = Instant::now();

        tokens.verify(iteration)?;
        Ok((begun, ended))
    })
}

/// The same in memory.
fn over_futexes(
    mut first: FutexSender,
    mut last: FutexReceiver,
    mut tokens: Tokens<usize>,
) -> DriveTrips {
    Box::new(move |iteration| {
        let numbers = tokens.set_out(iteration);

        let begun = Instant::now();
        for number in numbers {
            first.put(*number).context("the chain ended early")?;
            *number = last.next().context("the chain ended early")?;
        }
        let ended = Instant::now();

        tokens.verify(iteration)?;
        Ok((begun, ended))
    })
}
