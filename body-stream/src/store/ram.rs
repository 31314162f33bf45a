//! Bodies in memory.

use bytes::Bytes;
use hyper::body::Body;

use super::Keeper;
use crate::content::Summary;

impl Keeper {
    pub(super) async fn in_ram<B>(&self, body: B) -> anyhow::Result<Summary>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let pieces = self.pieces(body).await?;
        let look = move || {
            let mut summary = Summary::NONE;
            pieces.iter().for_each(|piece| summary.add(piece));
            summary
        };
        self.done(look).await
    }

    pub(super) async fn gathered<B>(&self, body: B) -> anyhow::Result<Summary>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let pieces = self.pieces(body).await?;
        let gather = move || {
            let whole = pieces.concat();
            // Not both for longer than it takes to copy.
            drop(pieces);
            let mut summary = Summary::NONE;
            summary.add(&whole);
            summary
        };
        self.done(gather).await
    }

    async fn pieces<B>(&self, mut body: B) -> anyhow::Result<Vec<Bytes>>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let mut pieces = Vec::new();
        while let Some(piece) = self.piece(&mut body).await? {
            pieces.push(piece);
        }
        Ok(pieces)
    }
}
