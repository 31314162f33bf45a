//! The ends of a link: read and write operations as futures.

#![expect(unsafe_code, reason = "operations are handed over to the kernel")]

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use harness::console;
use harness::links::Transport;
use io_uring::{opcode, squeue, types};

use super::buffers::GROUP;
use super::queue::{Operation, Queue};
use crate::executor::{Sink, Source, Token, cut_short};

/// A descriptor, and the operation on it.
struct End<T: Token> {
    queue: Rc<Queue<T>>,
    operation: Rc<Operation<T>>,
    fd: OwnedFd,
    /// How many bytes of the operation's token were read or written.
    done: usize,
}

/// The end that is read from.
pub(crate) struct Reader<T: Token> {
    end: End<T>,
    multishot: Option<Transport>,
}

/// The end that is written to.
pub(crate) struct Writer<T: Token> {
    end: End<T>,
}

impl<T: Token> End<T> {
    fn new(queue: Rc<Queue<T>>, fd: OwnedFd) -> Self {
        End {
            queue,
            operation: Rc::default(),
            fd,
            done: 0,
        }
    }

    /// Begins an operation on the rest of the token, which `build` is given.
    fn begin(
        &self,
        build: impl FnOnce(types::Fd, *mut u8, u32) -> squeue::Entry,
    ) -> io::Result<()> {
        let fd = types::Fd(self.fd.as_raw_fd());
        let (bytes, size) = self.operation.bytes();
        // SAFETY: no more bytes are done than there are.
        let rest = unsafe { bytes.add(self.done) };
        let entry = build(fd, rest, (size - self.done) as u32);
        // SAFETY: the descriptor is closed by the drop of this end, which cancels the operation
        // first; entries made here point to the operation's token or to nothing.
        unsafe { self.queue.begin(&self.operation, entry) }
    }

    /// Waits for the operation on the rest of the token. Returns how many bytes it did, and whether
    /// those were the last.
    async fn go_on(&mut self) -> io::Result<(usize, bool)> {
        let operation = &self.operation;
        let count = poll_fn(|cx| operation.poll(cx)).await?;
        self.done += count;
        let is_whole = self.done == operation.bytes().1;
        if is_whole {
            self.done = 0;
        }
        Ok((count, is_whole))
    }
}

impl<T: Token> Drop for End<T> {
    /// The kernel keeps a file open as long as an operation on it is in flight, and the other end
    /// of the link would wait for ever.
    fn drop(&mut self) {
        if let Err(e) = self.queue.cancel(&self.operation) {
            console::say(format_args!("cannot cancel an operation: {e}"));
        }
    }
}

impl<T: Token> Reader<T> {
    pub(super) fn new(queue: Rc<Queue<T>>, fd: OwnedFd, multishot: Option<Transport>) -> Self {
        Reader {
            end: End::new(queue, fd),
            multishot,
        }
    }

    /// Reads until the token is whole. A read whose future was dropped goes on, and what it brings
    /// is the next call's, in the memory of its own token.
    async fn read_once(&mut self, token: &mut T) -> io::Result<bool> {
        let end = &mut self.end;
        if end.done == 0 && end.operation.is_idle() {
            end.operation.put(mem::take(token));
        }
        loop {
            if end.operation.is_idle() {
                end.begin(|fd, bytes, size| opcode::Read::new(fd, bytes, size).build())?;
            }
            let (count, is_whole) = end.go_on().await?;
            if count == 0 && end.done > 0 {
                return Err(cut_short());
            }
            if count == 0 || is_whole {
                *token = end.operation.take();
                return Ok(is_whole);
            }
        }
    }

    /// Fills a token with what an operation which stays brings in.
    fn poll_arrived(
        &self,
        transport: Transport,
        token: &mut T,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        let operation = &self.end.operation;
        loop {
            if operation.fill_from_arrived(token) {
                return Poll::Ready(Ok(true));
            }
            if operation.is_idle() {
                self.end.begin(|fd, _, _| match transport {
                    Transport::Pipe => opcode::ReadMulti::new(fd, 0, GROUP).build(),
                    Transport::Socketpair => opcode::RecvMulti::new(fd, GROUP).build(),
                })?;
            }
            match ready!(operation.poll(cx)) {
                Ok(_) if operation.is_drained() => return Poll::Ready(Ok(false)),
                Ok(_) => return Poll::Ready(Err(cut_short())),
                // All buffers were taken when more came. They are back by now.
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }
}

impl<T: Token> Source<T> for Reader<T> {
    async fn read(&mut self, token: &mut T) -> io::Result<bool> {
        match self.multishot {
            None => self.read_once(token).await,
            Some(transport) => poll_fn(|cx| self.poll_arrived(transport, token, cx)).await,
        }
    }
}

impl<T: Token> Writer<T> {
    pub(super) fn new(queue: Rc<Queue<T>>, fd: OwnedFd) -> Self {
        Writer {
            end: End::new(queue, fd),
        }
    }
}

impl<T: Token> Sink<T> for Writer<T> {
    async fn write(&mut self, token: &mut T) -> io::Result<()> {
        let end = &mut self.end;
        if !end.operation.is_idle() {
            // An earlier one whose future was dropped.
            end.go_on().await?;
        }
        end.done = 0;
        end.operation.put(mem::take(token));
        loop {
            end.begin(|fd, bytes, size| opcode::Write::new(fd, bytes, size).build())?;
            let (count, is_whole) = end.go_on().await?;
            if is_whole {
                *token = end.operation.take();
                return Ok(());
            }
            if count == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
    }
}
