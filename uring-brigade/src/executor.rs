//! What a chain asks of the executor that its tasks run on.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::task::Poll;

use harness::waits::Waits;

/// The memory of a token. The kernel reads and writes there, so that an operation owns it meanwhile
/// and leaves an empty one in its place.
pub(crate) trait Token: Default + Clone + 'static {
    /// Its bytes.
    fn bytes(&mut self) -> &mut [u8];

    /// Fills it with what came first, if there is as much.
    fn take_from(&mut self, arrived: &mut VecDeque<u8>) -> bool;
}

/// A token of one byte, wherever its owner is.
impl Token for [u8; 1] {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    fn take_from(&mut self, arrived: &mut VecDeque<u8>) -> bool {
        let byte = arrived.pop_front();
        byte.map(|byte| *self = [byte]).is_some()
    }
}

/// A token of several bytes.
impl Token for Box<[u8]> {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    fn take_from(&mut self, arrived: &mut VecDeque<u8>) -> bool {
        arrived.len() >= self.len() && arrived.read_exact(self).is_ok()
    }
}

/// What is told at an end of file in the middle of a token.
pub(crate) fn cut_short() -> io::Error {
    io::Error::new(
        ErrorKind::UnexpectedEof,
        "the link ended in the middle of a token",
    )
}

/// An executor of one thread, which is the calling one, for tasks that pass on tokens of a kind.
pub(crate) trait Executor<T: Token>: Clone + 'static {
    /// The end of a link that is read from.
    type Reader: Source<T> + 'static;
    /// The end of a link that is written to.
    type Writer: Sink<T> + 'static;
    /// A task that was spawned: what it returned, or its panic.
    type Task<O: 'static>: Future<Output = anyhow::Result<O>>;

    /// Runs the tasks until `future`, which is one of them, has come to its end.
    ///
    /// # Errors
    /// What the kernel reports where a wait fails.
    fn block_on<O>(&self, future: impl Future<Output = O>) -> io::Result<O>;

    /// Starts a task.
    fn spawn<O: 'static>(
        &self,
        future: impl Future<Output = anyhow::Result<O>> + 'static,
    ) -> Self::Task<O>;

    /// Takes over the end of a link that is read from, a blocking descriptor.
    ///
    /// # Errors
    /// What the executor reports.
    fn reader(&self, fd: OwnedFd) -> io::Result<Self::Reader>;

    /// Takes over the end of a link that is written to, a blocking descriptor.
    ///
    /// # Errors
    /// What the executor reports.
    fn writer(&self, fd: OwnedFd) -> io::Result<Self::Writer>;

    /// What it has counted of itself so far, if it counts.
    fn waits(&self) -> Option<Waits>;
}

/// The end of a link that is read from.
pub(crate) trait Source<T> {
    /// Fills a token, in several reads where it comes in parts; `false` at the end of file.
    async fn read(&mut self, token: &mut T) -> io::Result<bool>;
}

/// The end of a link that is written to.
pub(crate) trait Sink<T> {
    /// Hands a token on, in several writes where it goes in parts.
    async fn write(&mut self, token: &mut T) -> io::Result<()>;
}

/// Lets every other task that is ready run first.
pub(crate) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
