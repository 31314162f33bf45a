//! Links between threads in memory. Each kind is a type, so that the loop over it is compiled for it
//! alone.

mod condvar;
mod futex;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

pub(crate) use condvar::Condvar;
pub(crate) use futex::Futex;

/// Kind of a link, for tokens of a type.
pub(crate) trait Link<M> {
    type Receiver: Take<M>;
    type Sender: Put<M>;

    /// Makes a link that holds so many tokens, if its kind leaves a choice.
    fn link(capacity: u32) -> (Self::Receiver, Self::Sender);
}

/// End of a link to take tokens from. When it is dropped, putting one in becomes an error.
pub(crate) trait Take<M>: Send + 'static {
    /// Takes a token out; sleeps while there is none. `None` if the sender is gone.
    fn take(&mut self) -> Option<M>;
}

/// End of a link to put tokens into. When it is dropped, the receiver gets what is in the link, and then
/// the end.
pub(crate) trait Put<M>: Send + 'static {
    /// Puts a token in; sleeps while there is no room. `BrokenPipe` if the receiver is gone: the token
    /// is lost.
    fn put(&mut self, token: M) -> io::Result<()>;
}

/// Error of a sender whose receiver is gone.
fn receiver_gone() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the next task is gone")
}

/// `std::sync::mpsc::sync_channel`; with capacity 0 a sender waits until its token is taken.
pub(crate) struct Mpsc;

impl<M: Send + 'static> Link<M> for Mpsc {
    type Receiver = Receiver<M>;
    type Sender = SyncSender<M>;

    fn link(capacity: u32) -> (Receiver<M>, SyncSender<M>) {
        let (sender, receiver) = sync_channel(capacity as usize);
        (receiver, sender)
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    fn take(&mut self) -> Option<M> {
        self.recv().ok()
    }
}

impl<M: Send + 'static> Put<M> for SyncSender<M> {
    fn put(&mut self, token: M) -> io::Result<()> {
        self.send(token).map_err(|_| receiver_gone())
    }
}
