//! What joins two tasks in memory.
//!
//! Each kind is a type of its own, so that the loop over it is compiled for it alone and decides
//! nothing. Its operations are futures as they come: with Tokio's bounded channel, those of Tokio.

mod mpsc;
mod notify;
mod oneshot;
mod slot;
#[cfg(test)]
mod tests;
mod unbounded;

use std::error::Error;
use std::fmt;
use std::future::Future;

pub(crate) use mpsc::Mpsc;
pub(crate) use notify::Notify;
pub(crate) use oneshot::Oneshot;
pub(crate) use slot::{Mutex, Slot};
pub(crate) use unbounded::Unbounded;

/// A kind of link.
pub(crate) trait Link: 'static {
    /// Where numbers go in.
    type Sender: Put;
    /// Where they come out.
    type Receiver: Take;

    /// Makes one with room for so many numbers, where that can be chosen.
    fn link(capacity: u32) -> (Self::Sender, Self::Receiver);
}

/// The end of a link where numbers go in. When it is dropped, the receiver gets what is in the
/// link, and then the end.
pub(crate) trait Put: Send + 'static {
    /// What becomes of a number that nobody is left to take.
    type Lost: Error + Send + Sync + 'static;

    /// Puts a number in; waits while there is no room. An error when the receiver is gone.
    fn put(&mut self, number: usize) -> impl Future<Output = Result<(), Self::Lost>> + Send;
}

/// The end of a link where numbers come out. When it is dropped, putting becomes an error.
pub(crate) trait Take: Send + 'static {
    /// Takes a number out; waits while there is none. `None` when the sender is gone, and not to be
    /// called again then.
    fn take(&mut self) -> impl Future<Output = Option<usize>> + Send;
}

/// The receiver is gone.
#[derive(Debug)]
pub(crate) struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the receiver is gone")
    }
}

impl Error for Gone {}
