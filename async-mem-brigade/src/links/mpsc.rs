//! Tokio's bounded channel.

use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{Link, Put, Take};

/// `tokio::sync::mpsc::channel`: a list of blocks, a semaphore for the room, a waker.
#[derive(Debug)]
pub struct Mpsc;

impl<M: Send + Sync + 'static> Link<M> for Mpsc {
    type Sender = Sender<M>;
    type Receiver = Receiver<M>;

    fn link(capacity: u32) -> (Self::Sender, Self::Receiver) {
        channel(capacity as usize)
    }
}

impl<M: Send + Sync + 'static> Put<M> for Sender<M> {
    type Lost = SendError<M>;

    fn put(&mut self, token: M) -> impl Future<Output = Result<(), Self::Lost>> {
        self.send(token)
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    fn take(&mut self) -> impl Future<Output = Option<M>> {
        self.recv()
    }
}
