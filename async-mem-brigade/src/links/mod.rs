//! What joins two tasks in memory.
//!
//! Each kind is a type of its own, so that the loop over it is compiled for it alone and decides
//! nothing. Its operations are futures as they come: with Tokio's bounded channel, those of Tokio.

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
use std::future::Future;

pub(crate) use async_channel::AsyncChannel;
use harness::feed::Stock;
use harness::wiring::Post;
pub(crate) use mpsc::Mpsc;
pub(crate) use notify::Notify;
pub(crate) use oneshot::Oneshot;
pub(crate) use slot::{Mutex, Slot};
pub(crate) use unbounded::Unbounded;

/// A kind of link, for such messages.
pub(crate) trait Link<M>: 'static {
    /// Where messages go in.
    type Sender: Put<M>;
    /// Where they come out.
    type Receiver: Take<M>;

    /// Makes one with room for so many messages, where that can be chosen.
    fn link(capacity: u32) -> (Self::Sender, Self::Receiver);
}

/// The end of a link where messages go in. When it is dropped, the receiver gets what is in the
/// link, and then the end.
pub(crate) trait Put<M>: Send + 'static {
    /// What becomes of a message that nobody is left to take.
    type Lost: Error + Send + Sync + 'static;

    /// Puts a message in; waits while there is no room. An error when the receiver is gone.
    fn put(&mut self, message: M) -> impl Future<Output = Result<(), Self::Lost>> + Send;
}

/// The end of a link where messages come out. When it is dropped, putting becomes an error.
pub(crate) trait Take<M>: Send + 'static {
    /// Takes a message out; waits while there is none. `None` when the sender is gone, and not to be
    /// called again then.
    fn take(&mut self) -> impl Future<Output = Option<M>> + Send;
}

/// Where the first task takes its messages from that feeds the others in: one that it is sent, then
/// those in stock, and so on.
pub(crate) struct Stocked<R, M> {
    link: R,
    stock: Stock<M>,
    rest: Vec<M>,
}

impl<R, M> Stocked<R, M> {
    /// The post with such an end to take from.
    pub(crate) fn at<S>(post: Post<R, S>, stock: Stock<M>) -> Post<Self, S> {
        Post {
            place: post.place,
            upstream: Stocked {
                link: post.upstream,
                stock,
                rest: Vec::new(),
            },
            downstream: post.downstream,
        }
    }
}

impl<R: Take<M>, M: Send + 'static> Take<M> for Stocked<R, M> {
    async fn take(&mut self) -> Option<M> {
        if let Some(message) = self.rest.pop() {
            return Some(message);
        }
        let first = self.link.take().await?;
        self.stock.take(&mut self.rest);
        Some(first)
    }
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
