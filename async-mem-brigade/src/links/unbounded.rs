//! Tokio's channel without a bound.

use std::future;

use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Link, Put, Take};

/// `tokio::sync::mpsc::unbounded_channel`: sending never waits.
#[derive(Debug)]
pub struct Unbounded;

impl<M: Send + Sync + 'static> Link<M> for Unbounded {
    type Sender = UnboundedSender<M>;
    type Receiver = UnboundedReceiver<M>;

    fn link(_: u32) -> (Self::Sender, Self::Receiver) {
        unbounded_channel()
    }
}

impl<M: Send + Sync + 'static> Put<M> for UnboundedSender<M> {
    type Lost = SendError<M>;

    fn put(&mut self, token: M) -> impl Future<Output = Result<(), Self::Lost>> {
        future::ready(self.send(token))
    }
}

impl<M: Send + 'static> Take<M> for UnboundedReceiver<M> {
    fn take(&mut self) -> impl Future<Output = Option<M>> {
        self.recv()
    }
}
