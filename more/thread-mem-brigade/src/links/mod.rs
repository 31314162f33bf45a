//! Links between threads in memory. Each kind is a type, that of its receiver, so that the loop over it is
//! compiled for it alone.

mod futex;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::sync::mpsc;

pub(crate) use futex::FutexReceiver;

/// End of a link to take tokens from. When it is dropped, putting one in becomes an error.
pub(crate) trait Receiver: Send + Sized + 'static {
    type Sender: Sender;

    /// Makes a link that holds so many tokens, if its kind leaves a choice.
    fn link(capacity: u32) -> (Self, Self::Sender);

    /// Takes a token out; sleeps while there is none. `None` if the sender is gone.
    fn take(&mut self) -> Option<usize>;
}

/// End of a link to put tokens into. When it is dropped, the receiver gets what is in the link, and then
/// the end.
pub(crate) trait Sender: Send + 'static {
    /// Puts a token in; sleeps while there is no room. `BrokenPipe` if the receiver is gone: the token
    /// is lost.
    fn put(&mut self, token: usize) -> io::Result<()>;
}

/// Error of a sender whose receiver is gone.
fn receiver_gone() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the next task is gone")
}

/// std's bounded channel: with capacity 0 a sender waits until its token is taken.
impl Receiver for mpsc::Receiver<usize> {
    type Sender = mpsc::SyncSender<usize>;

    fn link(capacity: u32) -> (Self, mpsc::SyncSender<usize>) {
        let (sender, receiver) = mpsc::sync_channel(capacity as usize);
        (receiver, sender)
    }

    fn take(&mut self) -> Option<usize> {
        self.recv().ok()
    }
}

impl Sender for mpsc::SyncSender<usize> {
    fn put(&mut self, token: usize) -> io::Result<()> {
        self.send(token).map_err(|_| receiver_gone())
    }
}
