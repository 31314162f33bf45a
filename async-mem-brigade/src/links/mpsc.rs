//! Tokio's bounded channel.

use std::future::Future;

use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{Link, Put, Take};

/// `tokio::sync::mpsc::channel`: a list of blocks, a semaphore for the room, a waker.
pub(crate) struct Mpsc;

impl Link for Mpsc {
    type Sender = Sender<usize>;
    type Receiver = Receiver<usize>;

    fn link(capacity: u32) -> (Self::Sender, Self::Receiver) {
        channel(capacity as usize)
    }
}

impl Put for Sender<usize> {
    type Lost = SendError<usize>;

    fn put(&mut self, number: usize) -> impl Future<Output = Result<(), Self::Lost>> {
        self.send(number)
    }
}

impl Take for Receiver<usize> {
    fn take(&mut self) -> impl Future<Output = Option<usize>> {
        self.recv()
    }
}
