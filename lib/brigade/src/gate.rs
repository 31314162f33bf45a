//! A gate that holds threads until all of them are alive.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;

use anyhow::Context;

use crate::{StackFlags, StartLatch, join};

/// A pipe from which each thread waits to read a byte. Its sleepers have a queue of their own; sleepers in the kernel's
/// table of futexes would slow down every lock of the process (see [`crate::futex`]). When the gate is dropped, threads
/// that wait find the end of file.
#[derive(Debug)]
pub struct Gate {
    reader: Arc<PipeReader>,
    writer: PipeWriter,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> anyhow::Result<Self> {
        let (reader, writer) = io::pipe().context("cannot make the pipe that threads wait at")?;
        Ok(Gate { reader: Arc::new(reader), writer })
    }

    /// A thread's side.
    pub fn reader(&self) -> Arc<PipeReader> {
        Arc::clone(&self.reader)
    }

    /// Writes a byte for each of so many threads, which wake one by one. The end of file would wake all of them at once,
    /// to contend for the pipe's lock.
    pub fn open(mut self, threads: u32) -> anyhow::Result<()> {
        self.writer.write_all(&vec![0; threads as usize]).context("cannot wake the threads")
    }
}

/// Waits until the gate is opened; false if it is dropped instead.
pub fn wait_at(mut gate: &PipeReader) -> bool {
    matches!(gate.read(&mut [0]), Ok(1))
}

/// Keeps so many threads alive and asleep while `rest` runs. Each calls `prepare` before it waits.
pub fn hold(
    threads: u32,
    stack: StackFlags,
    prepare: fn(),
    rest: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (gate, mut latch) = (Gate::new()?, StartLatch::new(threads));
    let mut held = Vec::with_capacity(threads as usize);
    for _ in 0..threads {
        let (guard, gate) = (latch.guard()?, gate.reader());
        held.push(stack.spawn(threads, move || {
            prepare();
            guard.started();
            wait_at(&gate);
        })?);
    }
    latch.wait()?;
    rest()?;
    gate.open(threads)?;
    held.into_iter().try_for_each(join)
}
