//! Stores: how a body is kept as it comes in, and how it is summarised.
//!
//! A store is a sequence of operations that block, each done as the strategy says; in between the task
//! waits for the body. An operation owns what it works on and returns it, since it may be done on another
//! thread.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use anyhow::Context;
use blocking::Offload;
use bytes::Bytes;
use clap::ValueEnum;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::content::Summary;
use crate::folder::Folder;
use crate::map::Map;

/// Where a body is kept until it is summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// in memory, as the pieces came: one operation, the look at all of them
    Ram,
    /// in memory: one operation that copies the pieces into one buffer and looks at that
    RamGather,
    /// in a file without a name: one operation to make it, one for each piece that is written, one for
    /// each block of 64 KiB that is read back
    Fs,
    /// in such a file, which is then mapped and looked at in place: one operation
    Mmap,
    /// in such a file, which is then mapped: one operation, and one for each block of 64 KiB that is
    /// copied out of the map
    MmapCopy,
}

impl Store {
    /// Whether it keeps bodies in files.
    pub(crate) fn has_files(self) -> bool {
        !matches!(self, Store::Ram | Store::RamGather)
    }

    /// Whether it maps them.
    pub(crate) fn has_maps(self) -> bool {
        matches!(self, Store::Mmap | Store::MmapCopy)
    }
}

/// How each body of a run is kept.
#[derive(Clone)]
pub(crate) struct Keeper {
    pub(crate) store: Store,
    /// `None` where the store has no files.
    pub(crate) folder: Option<Arc<Folder>>,
    pub(crate) offload: Offload,
}

/// Bytes that are read back at once.
const BLOCK: u64 = 64 << 10;

impl Keeper {
    /// Takes a body in, keeps it, looks at all of it and lets it go.
    ///
    /// # Errors
    /// Where the body breaks off or an operation fails.
    pub(crate) async fn keep(&self, body: Incoming) -> anyhow::Result<Summary> {
        match self.store {
            Store::Ram => self.in_ram(body).await,
            Store::RamGather => self.gathered(body).await,
            Store::Fs => self.in_file(body).await,
            Store::Mmap => self.mapped(body).await,
            Store::MmapCopy => self.copied(body).await,
        }
    }

    async fn in_ram(&self, body: Incoming) -> anyhow::Result<Summary> {
        let pieces = pieces(body).await?;
        let look = move || {
            let mut summary = Summary::default();
            pieces.iter().for_each(|piece| summary.add(piece));
            summary
        };
        self.offload.run(look).await
    }

    async fn gathered(&self, body: Incoming) -> anyhow::Result<Summary> {
        let pieces = pieces(body).await?;
        let gather = move || {
            let whole = pieces.concat();
            // Both are there only while they are copied.
            drop(pieces);
            summary(&whole)
        };
        self.offload.run(gather).await
    }

    async fn in_file(&self, body: Incoming) -> anyhow::Result<Summary> {
        let (file, length) = self.written(body).await?;
        let mut copy = Copy::new(file, length);
        loop {
            match self.offload.run(move || copy.step()).await? {
                Ok(Step::More(rest)) => copy = rest,
                Ok(Step::Last(summary)) => return Ok(summary),
                Err(e) => return Err(self.explain("cannot read a file", e)),
            }
        }
    }

    async fn mapped(&self, body: Incoming) -> anyhow::Result<Summary> {
        let (file, length) = self.written(body).await?;
        let map_and_look = move || Map::new(&file, length).map(|map| summary(map.bytes()));
        let looked = self.offload.run(map_and_look).await?;
        looked.map_err(|e| self.explain("cannot map a file", e))
    }

    async fn copied(&self, body: Incoming) -> anyhow::Result<Summary> {
        let (file, length) = self.written(body).await?;
        let map = self.map(file, length).await?;
        let map = map.map_err(|e| self.explain("cannot map a file", e))?;
        let mut copy = Copy::new(map, length);
        loop {
            match self.offload.run(move || copy.step()).await?? {
                Step::More(rest) => copy = rest,
                Step::Last(summary) => return Ok(summary),
            }
        }
    }

    /// Maps a file and touches nothing of it.
    async fn map(&self, file: File, length: u64) -> anyhow::Result<io::Result<Map>> {
        self.offload.run(move || Map::new(&file, length)).await
    }

    /// Writes a body into a file, and returns this with its length.
    async fn written(&self, mut body: Incoming) -> anyhow::Result<(File, u64)> {
        let folder = self.folder.as_ref().context("there is no folder")?;
        let place = Arc::clone(folder);
        let made = self.offload.run(move || place.file()).await?;
        let mut file = made.map_err(|e| self.explain("cannot make a file", e))?;
        let mut length = 0;
        while let Some(piece) = next_piece(&mut body).await? {
            length += piece.len() as u64;
            let write = move || file.write_all(&piece).map(|()| file);
            let written = self.offload.run(write).await?;
            file = written.map_err(|e| self.explain("cannot write a body", e))?;
        }
        Ok((file, length))
    }

    fn explain(&self, what: &str, error: io::Error) -> anyhow::Error {
        match &self.folder {
            Some(folder) => folder.explain(what, error),
            None => error.into(),
        }
    }
}

fn summary(bytes: &[u8]) -> Summary {
    let mut summary = Summary::default();
    summary.add(bytes);
    summary
}

async fn pieces(mut body: Incoming) -> anyhow::Result<Vec<Bytes>> {
    let mut pieces = Vec::new();
    while let Some(piece) = next_piece(&mut body).await? {
        pieces.push(piece);
    }
    Ok(pieces)
}

/// Next piece of a body; `None` at its end.
async fn next_piece(body: &mut Incoming) -> anyhow::Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        // Else it is a trailer.
        if let Ok(piece) = frame.context("it broke off")?.into_data() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

/// What a body can be copied out of.
trait Source {
    /// Fills `block` from `at` on.
    fn copy(&self, at: u64, block: &mut [u8]) -> io::Result<()>;
}

impl Source for File {
    fn copy(&self, at: u64, block: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(block, at)
    }
}

impl Source for Map {
    fn copy(&self, at: u64, block: &mut [u8]) -> io::Result<()> {
        let at = at as usize;
        block.copy_from_slice(&self.bytes()[at..at + block.len()]);
        Ok(())
    }
}

/// A body that is looked at block by block.
struct Copy<S> {
    source: S,
    length: u64,
    block: Vec<u8>,
    summary: Summary,
}

/// What follows a block.
enum Step<S> {
    /// Another one.
    More(Copy<S>),
    /// Nothing: the source is closed.
    Last(Summary),
}

impl<S: Source> Copy<S> {
    fn new(source: S, length: u64) -> Self {
        Copy {
            source,
            length,
            block: vec![0; BLOCK.min(length) as usize],
            summary: Summary::default(),
        }
    }

    /// Copies the next block and looks at it. After the last one the source is closed, which frees the
    /// file.
    fn step(mut self) -> io::Result<Step<S>> {
        let at = self.summary.length;
        let block = &mut self.block[..BLOCK.min(self.length - at) as usize];
        self.source.copy(at, block)?;
        self.summary.add(block);
        Ok(match self.summary.length < self.length {
            true => Step::More(self),
            false => Step::Last(self.summary),
        })
    }
}
