//! Stores: how a body is kept as it comes in, and how it is summed up.
//!
//! A store is a sequence of operations that block, each done as the strategy says; in between the task waits
//! for the body. An operation owns its arguments and returns them, since another thread may do it.

#![expect(unsafe_code, reason = "a file is mapped")]

use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use anyhow::Context;
use blocking::Offload;
use bytes::Bytes;
use clap::ValueEnum;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use memmap2::{Advice, Mmap, MmapOptions};

use crate::content::Summary;
use crate::folder::Folder;

/// Place of a body until it is summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// in memory, as the chunks came: one operation that reads all chunks
    Ram,
    /// in memory: one operation that copies the chunks into one buffer and reads it
    RamGather,
    /// in an unnamed file: one operation to make it, one per chunk that is written, and one per block of 64 KiB that is
    /// read back
    Fs,
    /// in an unnamed file, as with fs; one operation maps it and reads it in place
    Mmap,
    /// in an unnamed file, as with fs; one operation maps it, and one per block of 64 KiB copies it out of the map
    MmapCopy,
}

impl Store {
    /// True if it keeps bodies in files.
    pub(crate) fn has_files(self) -> bool {
        !matches!(self, Store::Ram | Store::RamGather)
    }

    pub(crate) fn has_maps(self) -> bool {
        matches!(self, Store::Mmap | Store::MmapCopy)
    }
}

#[derive(Clone)]
pub(crate) struct Keeper {
    pub(crate) store: Store,
    /// `None` if the store has no files.
    pub(crate) folder: Option<Arc<Folder>>,
    pub(crate) offload: Offload,
}

/// Bytes that are read back at once.
const BLOCK: u64 = 64 << 10;

impl Keeper {
    /// Takes a body in, keeps it, looks at all of it and lets it go.
    pub(crate) async fn keep(&self, body: Incoming) -> anyhow::Result<Summary> {
        match self.store {
            Store::Ram => {
                let chunks = all_chunks(body).await?;
                let look = move || chunks.iter().fold(Summary::default(), add);
                self.offload.run(look).await
            }
            Store::RamGather => {
                let chunks = all_chunks(body).await?;
                let gather = move || {
                    let whole = chunks.concat();
                    // Both are there only while they are copied.
                    drop(chunks);
                    add(Summary::default(), whole)
                };
                self.offload.run(gather).await
            }
            Store::Fs => {
                let (file, length) = self.written(body).await?;
                self.copied(Source::File(file), length).await
            }
            Store::Mmap => {
                let (file, length) = self.written(body).await?;
                let look = move || map(&file, length).map(|map| add(Summary::default(), map));
                self.do_io("cannot map a file", look).await
            }
            Store::MmapCopy => {
                let (file, length) = self.written(body).await?;
                let map = self.do_io("cannot map a file", move || map(&file, length)).await?;
                self.copied(Source::Map(map), length).await
            }
        }
    }

    /// Writes a body into a file, and returns the file with its length.
    async fn written(&self, mut body: Incoming) -> anyhow::Result<(File, u64)> {
        let folder = Arc::clone(self.folder.as_ref().context("there is no folder")?);
        let mut file = self.do_io("cannot make a file", move || folder.file()).await?;
        let mut length = 0;
        while let Some(chunk) = next_chunk(&mut body).await? {
            length += chunk.len() as u64;
            let write = move || file.write_all(&chunk).map(|()| file);
            file = self.do_io("cannot write a body", write).await?;
        }
        Ok((file, length))
    }

    /// Copies a body out of its source block by block, and looks at each.
    async fn copied(&self, source: Source, length: u64) -> anyhow::Result<Summary> {
        let block = vec![0; BLOCK.min(length) as usize];
        let mut copy = BlockCopy { source, length, block, summary: Summary::default() };
        loop {
            match self.do_io("cannot read a file", move || copy.step()).await? {
                ControlFlow::Continue(rest) => copy = rest,
                ControlFlow::Break(summary) => return Ok(summary),
            }
        }
    }

    /// Has an operation on a file done; its error names the folder and the remedy.
    async fn do_io<T: Send + 'static>(
        &self,
        fault: &str,
        operation: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let done = self.offload.run(operation).await?;
        done.map_err(|e| match &self.folder {
            Some(folder) => folder.explain(fault, e),
            None => e.into(),
        })
    }
}

fn add(mut summary: Summary, bytes: impl AsRef<[u8]>) -> Summary {
    summary.add(bytes.as_ref());
    summary
}

async fn all_chunks(mut body: Incoming) -> anyhow::Result<Vec<Bytes>> {
    let mut chunks = Vec::new();
    while let Some(chunk) = next_chunk(&mut body).await? {
        chunks.push(chunk);
    }
    Ok(chunks)
}

/// Next chunk of a body; `None` at its end.
async fn next_chunk(body: &mut Incoming) -> anyhow::Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        // Else it is a trailer.
        if let Ok(chunk) = frame.context("the body broke off")?.into_data() {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}

/// Maps the first `length` bytes of a file that nobody else has, for a sequential read.
fn map(file: &File, length: u64) -> io::Result<Mmap> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    // SAFETY: the file has no name, only this program has its descriptor, and nothing is written to it any
    // more, so that neither its bytes nor its length change while it is mapped.
    let map = unsafe { MmapOptions::new().len(length).map(file) }?;
    map.advise(Advice::Sequential)?;
    Ok(map)
}

/// Source that a body is copied from.
enum Source {
    File(File),
    Map(Mmap),
}

/// A body that is looked at block by block.
struct BlockCopy {
    source: Source,
    length: u64,
    block: Vec<u8>,
    summary: Summary,
}

impl BlockCopy {
    /// Copies the next block and looks at it. After the last one the source is closed, which frees the file.
    fn step(mut self) -> io::Result<ControlFlow<Summary, Self>> {
        let at = self.summary.length;
        let block = &mut self.block[..BLOCK.min(self.length - at) as usize];
        match &self.source {
            Source::File(file) => file.read_exact_at(block, at)?,
            Source::Map(map) => block.copy_from_slice(&map[at as usize..][..block.len()]),
        }
        self.summary.add(block);
        if self.summary.length < self.length {
            return Ok(ControlFlow::Continue(self));
        }
        Ok(ControlFlow::Break(self.summary))
    }
}
