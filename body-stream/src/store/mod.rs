//! What is done with a body as it comes in, and how it is summarised.
//!
//! Each store is a row of operations that block, one after the other, which are done as the strategy
//! has it, and of waiting for the body in between, which is the task's own. An operation owns what it
//! works on and gives it back, since it may be done on another thread.

mod file;
mod map;
mod ram;

use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use clap::ValueEnum;
use http_body_util::BodyExt;
use hyper::body::Body;
use serde::Serialize;

use crate::content::Summary;
use crate::folder::Folder;
use crate::progress::Progress;
use runtime::blocking::Offload;

/// Where a body is kept until it is summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Store {
    /// in memory, as the pieces came: one operation, the look at all of them
    Ram,
    /// in memory: one operation that copies the pieces into one buffer and looks at that
    RamGather,
    /// in a file without a name: one operation for making it, one for each piece that is written, one
    /// for each block of 64 KiB that is read back
    Fs,
    /// in such a file, which is then mapped and looked at in place: one operation
    Mmap,
    /// in such a file, which is then mapped: one operation, and one for each block of 64 KiB that is
    /// copied out of the map
    MmapCopy,
}

/// Who touches a map, and has the page faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Faults {
    /// the operation, wherever the strategy has it done
    Operation,
    /// the task, on its worker: the operation maps the file and nothing else. The map's end is the
    /// task's too
    Worker,
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

/// What every body of a run is kept by.
#[derive(Clone)]
pub(crate) struct Keeper {
    pub(crate) store: Store,
    pub(crate) faults: Faults,
    /// Where there are files.
    pub(crate) folder: Option<Arc<Folder>>,
    pub(crate) offload: Offload,
    pub(crate) progress: Arc<Progress>,
}

impl Keeper {
    /// Takes a body in, keeps it, looks at all of it and lets it go.
    ///
    /// # Errors
    /// Where the body breaks off or an operation fails.
    pub(crate) async fn keep<B>(&self, body: B) -> anyhow::Result<Summary>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        match self.store {
            Store::Ram => self.in_ram(body).await,
            Store::RamGather => self.gathered(body).await,
            Store::Fs => self.in_file(body).await,
            Store::Mmap => self.mapped(body).await,
            Store::MmapCopy => self.copied(body).await,
        }
    }

    /// The next piece of a body; `None` at its end.
    async fn piece<B>(&self, body: &mut B) -> anyhow::Result<Option<Bytes>>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        while let Some(frame) = body.frame().await {
            let frame = frame.context("the body broke off")?;
            self.progress.step();
            // Else it is a trailer.
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// Has an operation done.
    async fn done<T: Send + 'static>(
        &self,
        operation: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let outcome = self.offload.run(operation).await;
        self.progress.step();
        outcome
    }
}
