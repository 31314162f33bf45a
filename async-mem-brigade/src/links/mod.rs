//! Links between tasks in memory: Tokio's channel, and a slot for the minimal executor. Each kind is a type, that of its
//! receiver, so that the loop over it is compiled for it alone. Its operations are the futures of its channel, as they
//! come.

mod slot;
#[cfg(test)]
mod tests;

use tokio::sync::mpsc;

pub use slot::SlotEnd;

/// End of Tokio's bounded channel.
pub type MpscReceiver = mpsc::Receiver<usize>;

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
