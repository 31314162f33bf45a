//! The ends of an eventfd link for Tokio, which has none of its own.

#![expect(
    unsafe_code,
    reason = "Tokio has to trust that a descriptor stays open"
)]

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use harness::links::Mode;
use harness::links::eventfd::Counter;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// Makes a link for a chain with so many tokens in flight. A single one always finds room: epoll is
/// then not asked for it, since each read would be an event.
pub(crate) fn link(tokens: u32) -> io::Result<(Reader, Writer)> {
    let waits = tokens > 1;
    let interest = match waits {
        false => Interest::READABLE,
        true => Interest::READABLE | Interest::WRITABLE,
    };
    let counter = Counter::new(Mode::NonBlocking)?;
    // SAFETY: a counter owns its descriptor, which stays the same and open as long as it lives.
    let fd = unsafe { AsyncFd::register_with_interest(counter, interest) }?;
    let fd = Arc::new(fd);
    let reader = Reader {
        fd: Arc::clone(&fd),
        ended: false,
    };
    Ok((reader, Writer { fd, waits }))
}

/// The end that is read from, a token at a time.
pub(crate) struct Reader {
    fd: Arc<AsyncFd<Counter>>,
    ended: bool,
}

/// The end that is written to, a token at a time.
pub(crate) struct Writer {
    fd: Arc<AsyncFd<Counter>>,
    /// Whether it may have to wait for room.
    waits: bool,
}

impl AsyncRead for Reader {
    /// As Tokio reads from a pipe: where the buffer had room for more than came, nothing is left, and
    /// the next read waits without asking first.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Reader { fd, ended } = self.get_mut();
        while !*ended && buffer.remaining() > 0 {
            let mut guard = ready!(fd.poll_read_ready(cx))?;
            let Ok(taken) = guard.try_io(|fd| fd.get_ref().take()) else {
                continue;
            };
            let taken = taken?;
            *ended = taken.ended;
            if let Some(token) = taken.token {
                buffer.put_slice(&[token]);
                if buffer.remaining() > 0 {
                    guard.clear_ready();
                }
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(&token) = buffer.first() else {
            return Poll::Ready(Ok(0));
        };
        if !self.waits {
            return Poll::Ready(self.fd.get_ref().put(token).map(|()| 1));
        }
        loop {
            let mut guard = ready!(self.fd.poll_write_ready(cx))?;
            if let Ok(done) = guard.try_io(|fd| fd.get_ref().put(token)) {
                return Poll::Ready(done.map(|()| 1));
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.fd.get_ref().desert();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.fd.get_ref().end();
    }
}
