//! The channel of smol.

use async_channel::{Receiver, SendError, Sender, bounded};

use super::{Link, Put, Take};

/// `async_channel::bounded`: a ring of slots with a turn each, and lists of those that wait.
#[derive(Debug)]
pub struct AsyncChannel;

impl<M: Send + Sync + 'static> Link<M> for AsyncChannel {
    type Sender = Sender<M>;
    type Receiver = Receiver<M>;

    fn link(capacity: u32) -> (Self::Sender, Self::Receiver) {
        bounded(capacity as usize)
    }
}

impl<M: Send + Sync + 'static> Put<M> for Sender<M> {
    type Lost = SendError<M>;

    fn put(&mut self, token: M) -> impl Future<Output = Result<(), Self::Lost>> {
        self.send(token)
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    async fn take(&mut self) -> Option<M> {
        self.recv().await.ok()
    }
}
