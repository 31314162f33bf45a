//! Links between tasks in memory. Each kind is a type, that of its receiver, so that the loop over it is
//! compiled for it alone. Its operations are the futures of its channel, as they come.

mod notify;
mod oneshot;
mod slot;
#[cfg(test)]
mod tests;

use std::future;

use tokio::sync::mpsc;

pub use async_channel::Receiver as AsyncChannelReceiver;
pub use notify::NotifyReceiver;
pub use oneshot::OneshotReceiver;
pub use slot::{MutexEnd, SlotEnd};
pub use tokio::sync::mpsc::{Receiver as MpscReceiver, UnboundedReceiver};

/// End of a link to take tokens from. When it is dropped, putting one in becomes an error.
pub trait Receiver: Send + Sized + 'static {
    /// Token of the link.
    type Token;
    /// The other end.
    type Sender: Sender<Self::Token>;

    /// Makes a link that holds so many tokens, if its kind leaves a choice.
    fn link(capacity: u32) -> (Self, Self::Sender);

    /// Takes a token out; waits while there is none. `None` if the sender is gone; it is not called
    /// again then.
    fn take(&mut self) -> impl Future<Output = Option<Self::Token>> + Send;
}

/// End of a link to put tokens into. When it is dropped, the receiver gets what is in the link, and then
/// the end.
pub trait Sender<M>: Send + 'static {
    /// Puts a token in; waits while there is no room. An error if the receiver is gone.
    fn put(&mut self, token: M) -> impl Future<Output = Result<(), impl Send>> + Send;
}

/// A list of blocks, a semaphore for the room, a waker.
impl<M: Send + 'static> Receiver for MpscReceiver<M> {
    type Token = M;
    type Sender = mpsc::Sender<M>;

    fn link(capacity: u32) -> (Self, mpsc::Sender<M>) {
        let (sender, receiver) = mpsc::channel(capacity as usize);
        (receiver, sender)
    }

    fn take(&mut self) -> impl Future<Output = Option<M>> {
        self.recv()
    }
}

impl<M: Send + 'static> Sender<M> for mpsc::Sender<M> {
    fn put(&mut self, token: M) -> impl Future<Output = Result<(), impl Send>> {
        self.send(token)
    }
}

/// The same list: sending never waits.
impl<M: Send + 'static> Receiver for UnboundedReceiver<M> {
    type Token = M;
    type Sender = mpsc::UnboundedSender<M>;

    fn link(_: u32) -> (Self, mpsc::UnboundedSender<M>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (receiver, sender)
    }

    fn take(&mut self) -> impl Future<Output = Option<M>> {
        self.recv()
    }
}

impl<M: Send + 'static> Sender<M> for mpsc::UnboundedSender<M> {
    fn put(&mut self, token: M) -> impl Future<Output = Result<(), impl Send>> {
        future::ready(self.send(token))
    }
}

/// A ring of slots with a turn each, and lists of those that wait.
impl<M: Send + 'static> Receiver for AsyncChannelReceiver<M> {
    type Token = M;
    type Sender = async_channel::Sender<M>;

    fn link(capacity: u32) -> (Self, async_channel::Sender<M>) {
        let (sender, receiver) = async_channel::bounded(capacity as usize);
        (receiver, sender)
    }

    async fn take(&mut self) -> Option<M> {
        self.recv().await.ok()
    }
}

impl<M: Send + 'static> Sender<M> for async_channel::Sender<M> {
    fn put(&mut self, token: M) -> impl Future<Output = Result<(), impl Send>> {
        self.send(token)
    }
}
