//! Bodies in files.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use hyper::body::Body;

use super::map::Map;
use super::{Faults, Keeper};
use crate::content::Summary;

/// What is read back at once.
const BLOCK: u64 = 64 << 10;

impl Keeper {
    pub(super) async fn in_file<B>(&self, body: B) -> anyhow::Result<Summary>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let (file, length) = self.written(body).await?;
        let mut copy = Copy::of(file, length);
        loop {
            match self.done(move || copy.step()).await? {
                Ok(Step::More(rest)) => copy = rest,
                Ok(Step::Last(summary)) => return Ok(summary),
                Err(e) => return Err(self.explain("cannot read a file", e)),
            }
        }
    }

    pub(super) async fn mapped<B>(&self, body: B) -> anyhow::Result<Summary>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let (file, length) = self.written(body).await?;
        let outcome = match self.faults {
            Faults::Operation => {
                let look = move || Map::of(&file, length).map(look_at);
                self.done(look).await?
            }
            Faults::Worker => self.map(file, length).await?.map(look_at),
        };
        outcome.map_err(|e| self.explain("cannot map a file", e))
    }

    pub(super) async fn copied<B>(&self, body: B) -> anyhow::Result<Summary>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let (file, length) = self.written(body).await?;
        let map = self.map(file, length).await?;
        let map = map.map_err(|e| self.explain("cannot map a file", e))?;
        let mut copy = Copy::of(map, length);
        loop {
            let step = match self.faults {
                Faults::Operation => self.done(move || copy.step()).await?,
                Faults::Worker => copy.step(),
            };
            match step? {
                Step::More(rest) => copy = rest,
                Step::Last(summary) => return Ok(summary),
            }
        }
    }

    /// Maps a file and touches nothing of it.
    async fn map(&self, file: File, length: u64) -> anyhow::Result<io::Result<Map>> {
        self.done(move || Map::of(&file, length)).await
    }

    /// Writes a body into a file, and returns this with its length.
    async fn written<B>(&self, mut body: B) -> anyhow::Result<(File, u64)>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let folder = self.folder.as_ref().context("there is no folder")?;
        let place = Arc::clone(folder);
        let made = self.done(move || place.file()).await?;
        let mut file = made.map_err(|e| self.explain("cannot make a file", e))?;
        let mut length = 0;
        while let Some(piece) = self.piece(&mut body).await? {
            length += piece.len() as u64;
            let write = move || file.write_all(&piece).map(|()| file);
            let written = self.done(write).await?;
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

/// Looks at a map and ends it.
fn look_at(map: Map) -> Summary {
    let mut summary = Summary::NONE;
    summary.add(map.bytes());
    summary
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

/// A body that is being looked at in blocks that are copied out of where it is.
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
    fn of(source: S, length: u64) -> Self {
        Copy {
            source,
            length,
            block: vec![0; BLOCK.min(length) as usize],
            summary: Summary::NONE,
        }
    }

    /// Copies the next block and looks at it; after the last one closes the source, which is the end
    /// of its file.
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
