//! What a chain asks of the executor that its tasks run on.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::task::Poll;

use harness::waits::Waits;

/// An executor of one thread, which is the calling one.
pub(crate) trait Executor: Clone + 'static {
    /// The end of a link that is read from.
    type Reader: Source + 'static;
    /// The end of a link that is written to.
    type Writer: Sink + 'static;
    /// A task that was spawned: what it returned, or its panic.
    type Task<T: 'static>: Future<Output = anyhow::Result<T>>;

    /// Runs the tasks until `future`, which is one of them, has come to its end.
    ///
    /// # Errors
    /// What the kernel reports where a wait fails.
    fn block_on<T>(&self, future: impl Future<Output = T>) -> io::Result<T>;

    /// Starts a task.
    fn spawn<T: 'static>(
        &self,
        future: impl Future<Output = anyhow::Result<T>> + 'static,
    ) -> Self::Task<T>;

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
pub(crate) trait Source {
    /// Takes one token; `None` at the end of file.
    async fn read(&mut self) -> io::Result<Option<u8>>;
}

/// The end of a link that is written to.
pub(crate) trait Sink {
    /// Hands one token on.
    async fn write(&mut self, token: u8) -> io::Result<()>;
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
