//! smol's channel.

use std::future::Future;

use async_channel::{Receiver, SendError, Sender, bounded};

use super::{Link, Put, Take};

/// `async_channel::bounded`: a ring of slots with a turn each, and lists of who waits.
pub(crate) struct AsyncChannel;

impl<M: Send + Sync + 'static> Link<M> for AsyncChannel {
    type Sender = Sender<M>;
    type Receiver = Receiver<M>;

    fn link(capacity: u32) -> (Self::Sender, Self::Receiver) {
        bounded(capacity as usize)
    }
}

impl<M: Send + Sync + 'static> Put<M> for Sender<M> {
    type Lost = SendError<M>;

    fn put(&mut self, message: M) -> impl Future<Output = Result<(), Self::Lost>> {
        self.send(message)
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    async fn take(&mut self) -> Option<M> {
        self.recv().await.ok()
    }
}
