//! What joins two threads in memory: a link that holds one message, or as many as a channel has
//! room for.
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

use harness::feed::Stock;
use harness::wiring::Post;

pub(crate) use condvar::Condvar;
pub(crate) use futex::Futex;
pub(crate) use mpsc::Mpsc;
pub(crate) use park::Park;

/// A kind of link, for such messages.
pub(crate) trait Link<M> {
    /// Where messages go in.
    type Sender: Put<M>;
    /// Where they come out.
    type Receiver: Take<M>;

    /// Makes one with room for so many messages, where that can be chosen. An end stays with the
    /// thread that first uses it.
    fn link(capacity: u32) -> (Self::Sender, Self::Receiver);
}

/// The end of a link where messages go in. When it is dropped, the receiver gets what is in the
/// link, and then the end.
pub(crate) trait Put<M>: Send + 'static {
    /// Puts a message in; sleeps while there is no room.
    ///
    /// # Errors
    /// `BrokenPipe` when the receiver is gone: the message is lost.
    fn put(&mut self, message: M) -> io::Result<()>;
}

/// The end of a link where messages come out. When it is dropped, putting becomes an error.
pub(crate) trait Take<M>: Send + 'static {
    /// Takes a message out; sleeps while there is none. `None` when the sender is gone.
    fn take(&mut self) -> Option<M>;
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
    fn take(&mut self) -> Option<M> {
        if let Some(message) = self.rest.pop() {
            return Some(message);
        }
        let first = self.link.take()?;
        self.stock.take(&mut self.rest);
        Some(first)
    }
}
