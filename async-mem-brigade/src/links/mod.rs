//! Links between tasks in memory.
//!
//! Each kind is a type, so that the loop over it is compiled for it alone. Its operations are the
//! futures of its channel, as they come.

mod async_channel;
mod mpsc;
mod notify;
mod oneshot;
mod slot;
#[cfg(test)]
mod tests;
mod unbounded;

use std::error::Error;
use std::fmt;

pub use async_channel::AsyncChannel;
pub use mpsc::Mpsc;
pub use notify::Notify;
pub use oneshot::Oneshot;
pub use slot::{Mutex, Slot};
pub use unbounded::Unbounded;

/// A kind of link, for tokens of a type.
pub trait Link<M>: 'static {
    /// End to put tokens into.
    type Sender: Put<M>;
    /// End to take tokens from.
    type Receiver: Take<M>;

    /// Makes a link with room for so many tokens, where that can be chosen.
    fn link(capacity: u32) -> (Self::Sender, Self::Receiver);
}

/// End of a link to put tokens into. When it is dropped, the receiver gets what is in the link, and then
/// the end.
pub trait Put<M>: Send + 'static {
    /// Error of a token that nobody is left to take.
    type Lost: Error + Send + Sync + 'static;

    /// Puts a token in; waits while there is no room. An error when the receiver is gone.
    fn put(&mut self, token: M) -> impl Future<Output = Result<(), Self::Lost>> + Send;
}

/// End of a link to take tokens from. When it is dropped, putting one in becomes an error.
pub trait Take<M>: Send + 'static {
    /// Takes a token out; waits while there is none. `None` when the sender is gone; it is not called
    /// again then.
    fn take(&mut self) -> impl Future<Output = Option<M>> + Send;
}

/// Error of a sender whose receiver is gone.
#[derive(Debug)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the receiver is gone")
    }
}

impl Error for Gone {}
