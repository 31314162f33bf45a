//! A gate that holds threads until all of them are alive.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;

use anyhow::Context;
use chain::StartLatch;

/// A pipe from which each thread waits to read a byte: in a queue of its own, since sleepers in the
/// kernel's table of futexes slow down every lock of the process (see `threads::futex`). When it is
/// dropped, threads that wait find the end of file.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Tells when all threads have come.
    pub(crate) latch: StartLatch,
    reader: Arc<PipeReader>,
    writer: PipeWriter,
}

/// A thread's side of the gate.
#[derive(Debug)]
pub(crate) struct Entrance(pub(crate) Arc<PipeReader>);

impl Gate {
    /// A closed gate for so many threads.
    ///
    /// # Errors
    /// Where the pipe cannot be made.
    pub(crate) fn new(tasks: u32) -> anyhow::Result<Self> {
        let (reader, writer) = io::pipe().context("cannot make the pipe that threads wait at")?;
        Ok(Gate { latch: StartLatch::new(tasks), reader: Arc::new(reader), writer })
    }

    /// The side of one more thread.
    pub(crate) fn entrance(&self) -> Entrance {
        Entrance(Arc::clone(&self.reader))
    }

    /// Wakes so many threads, one by one: the end of file would wake all at once, to wait for one
    /// another.
    ///
    /// # Errors
    /// What write(2) reports.
    pub(crate) fn open(mut self, threads: u32) -> anyhow::Result<()> {
        let bytes = vec![0; threads as usize];
        self.writer.write_all(&bytes).context("cannot wake the threads")
    }
}

impl Entrance {
    /// Waits until the gate is opened; false where it is dropped instead.
    pub(crate) fn wait(&self) -> bool {
        matches!((&*self.0).read(&mut [0]), Ok(1))
    }
}
