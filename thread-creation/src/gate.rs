//! A gate that holds threads until all of them are alive.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;

use anyhow::Context;
use chain::StartLatch;

/// A pipe from which each thread waits to read a byte: in a queue of its own, since sleepers in the kernel's
/// table of futexes slow down every lock of the process (see `threads::futex`). When it is dropped, threads
/// that wait find the end of file.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Open when all threads have come.
    pub(crate) latch: StartLatch,
    /// A thread's side.
    pub(crate) reader: Arc<PipeReader>,
    writer: PipeWriter,
}

impl Gate {
    /// A closed gate for so many threads.
    pub(crate) fn new(tasks: u32) -> anyhow::Result<Self> {
        let (reader, writer) = io::pipe().context("cannot make the pipe that threads wait at")?;
        Ok(Gate { latch: StartLatch::new(tasks), reader: Arc::new(reader), writer })
    }

    /// Wakes so many threads, one by one: the end of file would wake all at once, to wait for one another.
    pub(crate) fn open(mut self, threads: u32) -> anyhow::Result<()> {
        self.writer.write_all(&vec![0; threads as usize]).context("cannot wake the threads")
    }
}

/// Waits until the gate is opened; false if it is dropped instead.
pub(crate) fn wait(mut reader: &PipeReader) -> bool {
    matches!(reader.read(&mut [0]), Ok(1))
}
