//! What a run puts out: read as it comes, summed up, and thrown away.

use std::io::{self, PipeReader, Read};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};

/// Bytes of the end that are kept.
const KEPT: usize = 2048;

/// A thread that reads a pipe to its end.
pub(crate) struct Reader(JoinHandle<io::Result<Output>>);

/// What came through a pipe.
pub(crate) struct Output {
    bytes: u64,
    sum: crc32fast::Hasher,
    /// The end of it.
    tail: Vec<u8>,
}

impl Reader {
    /// Begins to read.
    pub(crate) fn start(from: PipeReader) -> io::Result<Self> {
        thread::Builder::new().spawn(|| read(from)).map(Reader)
    }

    /// Awaits the end, which comes once nobody can write any more.
    pub(crate) fn join(self) -> Result<Output> {
        let read = self.0.join().map_err(|_| anyhow!("the reader of its output panicked"))?;
        read.context("cannot read its output")
    }
}

fn read(mut from: PipeReader) -> io::Result<Output> {
    let mut output = Output { bytes: 0, sum: crc32fast::Hasher::new(), tail: Vec::new() };
    let mut bytes = vec![0; 1 << 16];
    loop {
        match from.read(&mut bytes)? {
            0 => return Ok(output),
            count => output.add(&bytes[..count]),
        }
    }
}

impl Output {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.sum.update(bytes);
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        self.tail.drain(..self.tail.len().saturating_sub(KEPT));
    }

    /// Its length and checksum, which tell it from any other.
    pub(crate) fn digest(&self) -> String {
        format!("{} bytes, CRC-32 {:08x}", self.bytes, self.sum.clone().finalize())
    }

    /// The end of it as text.
    pub(crate) fn end(&self) -> String {
        String::from_utf8_lossy(&self.tail).trim().to_owned()
    }
}
