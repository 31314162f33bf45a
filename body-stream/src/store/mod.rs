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
            let frame = frame.context("it broke off")?;
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context as TaskContext, Poll};

    use harness::placement::{Layout, Place, Placement};
    use hyper::body::Frame;
    use runtime::pool::{Bound, Pool};
    use tokio::runtime::Builder;

    use super::*;

    /// A body that comes in these pieces, of which one may be an error.
    struct Pieces(VecDeque<io::Result<Bytes>>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut TaskContext<'_>,
        ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
            Poll::Ready(self.0.pop_front().map(|piece| piece.map(Frame::data)))
        }
    }

    /// Of these lengths, the largest byte the last one.
    fn pieces(lengths: &[usize]) -> Pieces {
        let mut pieces: Vec<Vec<u8>> = lengths.iter().map(|&n| vec![7; n]).collect();
        if let Some(last) = pieces.iter_mut().rev().find_map(|piece| piece.last_mut()) {
            *last = 9;
        }
        Pieces(pieces.into_iter().map(|piece| Ok(piece.into())).collect())
    }

    /// Calls `look` with each store, by each strategy.
    fn with_each(look: impl AsyncFn(&Keeper)) {
        let place = tempfile::tempdir().unwrap();
        let free = Place {
            cpus: None,
            placement: Placement::Free,
            policy: None,
        };
        let pool = Pool::start(2, Bound::Unbounded, &free.confine(Layout::Single).unwrap());
        let pool = pool.unwrap();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        let offloads = [
            Offload::Direct,
            Offload::permit(2),
            Offload::Dispatch(pool.queue()),
            Offload::SpawnBlocking,
        ];
        for offload in offloads {
            for &store in Store::value_variants() {
                for &faults in Faults::value_variants() {
                    let keeper = Keeper {
                        store,
                        faults,
                        folder: Some(Arc::new(Folder::open(Some(place.path())).unwrap())),
                        offload: offload.clone(),
                        progress: Arc::default(),
                    };
                    runtime.block_on(look(&keeper));
                }
            }
        }
        drop(runtime);
        pool.join().unwrap();
        assert!(std::fs::read_dir(place.path()).unwrap().next().is_none());
    }

    #[test]
    fn every_store_sees_all_of_a_body_by_every_strategy() {
        with_each(async |keeper| {
            for lengths in [
                &[1][..],
                &[3, 0, 5],
                &[65_536],
                &[65_536, 1],
                &[8192; 20],
                &[200_000, 7, 100_000],
            ] {
                let expected = Summary {
                    max: 9,
                    length: lengths.iter().sum::<usize>() as u64,
                };
                let summary = keeper.keep(pieces(lengths)).await.unwrap();
                assert_eq!(summary, expected, "{:?} {lengths:?}", keeper.store);
            }
        });
    }

    #[test]
    fn a_body_that_breaks_off_is_an_error_everywhere() {
        with_each(async |keeper| {
            let mut body = pieces(&[8192; 3]);
            body.0[2] = Err(io::ErrorKind::UnexpectedEof.into());
            let error = keeper.keep(body).await.unwrap_err();
            assert!(error.to_string().contains("broke off"), "{error}");
        });
    }

    #[test]
    fn an_empty_body_is_no_reason_to_fail() {
        with_each(async |keeper| {
            let kept = keeper.keep(pieces(&[])).await;
            assert_eq!(kept.unwrap(), Summary::NONE, "{:?}", keeper.store);
        });
    }
}
