//! Tokio's channel without a bound.

use std::future::{self, Future};

use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Link, Put, Take};

/// `tokio::sync::mpsc::unbounded_channel`: to send is no await.
pub(crate) struct Unbounded;

impl Link for Unbounded {
    type Sender = UnboundedSender<usize>;
    type Receiver = UnboundedReceiver<usize>;

    fn link(_: u32) -> (Self::Sender, Self::Receiver) {
        unbounded_channel()
    }
}

impl Put for UnboundedSender<usize> {
    type Lost = SendError<usize>;

    fn put(&mut self, number: usize) -> impl Future<Output = Result<(), Self::Lost>> {
        future::ready(self.send(number))
    }
}

impl Take for UnboundedReceiver<usize> {
    fn take(&mut self) -> impl Future<Output = Option<usize>> {
        self.recv()
    }
}
