//! Links between tasks in memory. Each kind is a type, that of its receiver, so that the loop over it is
//! compiled for it alone. Its operations are the futures of its channel, as they come.

mod notify;
mod oneshot;
mod slot;
#[cfg(test)]
mod tests;

use std::future;

use tokio::sync::mpsc;

pub use notify::NotifyReceiver;
pub use oneshot::OneshotReceiver;
pub use slot::{MutexEnd, SlotEnd};

/// End of Tokio's bounded channel.
pub type MpscReceiver = mpsc::Receiver<usize>;

/// End of Tokio's unbounded channel.
pub type UnboundedReceiver = mpsc::UnboundedReceiver<usize>;

/// End of smol's bounded channel.
pub type AsyncChannelReceiver = async_channel::Receiver<usize>;

/// End of a link to take tokens from. When it is dropped, putting one in becomes an error.
pub trait Receiver: Send + Sized + 'static {
    /// The other end.
    type Sender: Sender;

    /// Makes a link that holds so many tokens, if its kind leaves a choice.
    fn link(capacity: u32) -> (Self, Self::Sender);

    /// Takes a token out; waits while there is none. `None` if the sender is gone; it is not called
    /// again then.
    fn take(&mut self) -> impl Future<Output = Option<usize>> + Send;
}

/// End of a link to put tokens into. When it is dropped, the receiver gets what is in the link, and then
/// the end.
pub trait Sender: Send + 'static {
    /// Puts a token in; waits while there is no room. An error if the receiver is gone.
    fn put(&mut self, token: usize) -> impl Future<Output = Result<(), impl Send>> + Send;
}

/// A list of blocks, a semaphore for the room, a waker.
impl Receiver for MpscReceiver {
    type Sender = mpsc::Sender<usize>;

    fn link(capacity: u32) -> (Self, mpsc::Sender<usize>) {
        let (sender, receiver) = mpsc::channel(capacity as usize);
        (receiver, sender)
    }

    fn take(&mut self) -> impl Future<Output = Option<usize>> {
        self.recv()
    }
}

impl Sender for mpsc::Sender<usize> {
    fn put(&mut self, token: usize) -> impl Future<Output = Result<(), impl Send>> {
        self.send(token)
    }
}

/// The same list: sending never waits.
impl Receiver for UnboundedReceiver {
    type Sender = mpsc::UnboundedSender<usize>;

    fn link(_: u32) -> (Self, mpsc::UnboundedSender<usize>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (receiver, sender)
    }

    fn take(&mut self) -> impl Future<Output = Option<usize>> {
        self.recv()
    }
}

impl Sender for mpsc::UnboundedSender<usize> {
    fn put(&mut self, token: usize) -> impl Future<Output = Result<(), impl Send>> {
        future::ready(self.send(token))
    }
}

/// A ring of slots with a turn each, and lists of those that wait.
impl Receiver for AsyncChannelReceiver {
    type Sender = async_channel::Sender<usize>;

    fn link(capacity: u32) -> (Self, async_channel::Sender<usize>) {
        let (sender, receiver) = async_channel::bounded(capacity as usize);
        (receiver, sender)
    }

    async fn take(&mut self) -> Option<usize> {
        self.recv().await.ok()
    }
}

impl Sender for async_channel::Sender<usize> {
    fn put(&mut self, token: usize) -> impl Future<Output = Result<(), impl Send>> {
        self.send(token)
    }
}
