//! Links between threads in memory: each holds one token, or as many as a channel has room for.
//!
//! Each kind is a type, so that the loop over it is compiled for it alone.

mod condvar;
mod futex;
mod mpsc;
mod park;
mod slot;
mod special;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};

pub(crate) use condvar::Condvar;
pub(crate) use futex::Futex;
pub(crate) use mpsc::Mpsc;
pub(crate) use park::Park;
pub(crate) use special::Special;

/// A kind of link, for tokens of a type.
pub(crate) trait Link<M> {
    /// End to put tokens into.
    type Sender: Put<M>;
    /// End to take tokens from.
    type Receiver: Take<M>;

    /// Makes a link with room for so many tokens, where that can be chosen. An end stays with the
    /// thread that uses it first.
    fn link(capacity: u32) -> (Self::Sender, Self::Receiver);
}

/// End of a link to put tokens into. When it is dropped, the receiver gets what is in the link, and then
/// the end.
pub(crate) trait Put<M>: Send + 'static {
    /// Puts a token in; sleeps while there is no room.
    ///
    /// # Errors
    /// `BrokenPipe` when the receiver is gone: the token is lost.
    fn put(&mut self, token: M) -> io::Result<()>;
}

/// End of a link to take tokens from. When it is dropped, putting one in becomes an error.
pub(crate) trait Take<M>: Send + 'static {
    /// Takes a token out; sleeps while there is none. `None` when the sender is gone.
    fn take(&mut self) -> Option<M>;
}

/// Error of a sender whose receiver is gone.
fn ended() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the next task is gone")
}
