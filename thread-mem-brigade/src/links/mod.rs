//! What joins two threads in memory: a link that holds one number.
//!
//! Each kind is a type of its own, so that the loop over it is compiled for it alone and decides
//! nothing.

mod condvar;
mod futex;
mod mpsc;
mod park;
mod slot;
#[cfg(test)]
mod tests;

use std::io;

pub(crate) use condvar::Condvar;
pub(crate) use futex::Futex;
pub(crate) use mpsc::Mpsc;
pub(crate) use park::Park;

/// A kind of link.
pub(crate) trait Link {
    /// Where numbers go in.
    type Sender: Put + Send + 'static;
    /// Where they come out.
    type Receiver: Take + Send + 'static;

    /// Makes one. An end stays with the thread that first uses it.
    fn link() -> (Self::Sender, Self::Receiver);
}

/// The end of a link where numbers go in. When it is dropped, the receiver gets what is in the
/// link, and then the end.
pub(crate) trait Put {
    /// Puts a number in; sleeps while there is one already.
    ///
    /// # Errors
    /// `BrokenPipe` when the receiver is gone: the number is lost.
    fn put(&mut self, number: usize) -> io::Result<()>;
}

/// The end of a link where numbers come out. When it is dropped, putting becomes an error.
pub(crate) trait Take {
    /// Takes a number out; sleeps while there is none. `None` when the sender is gone.
    fn take(&mut self) -> Option<usize>;
}
