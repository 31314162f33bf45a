//! The ends of a link: read and write operations as futures.

#![expect(unsafe_code, reason = "operations are handed over to the kernel")]

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use harness::console;
use harness::links::Transport;
use io_uring::{opcode, squeue, types};

use super::buffers::GROUP;
use super::queue::{Operation, Queue};
use crate::executor::{Sink, Source};

/// A descriptor, and the operation on it.
struct End {
    queue: Rc<Queue>,
    operation: Rc<Operation>,
    fd: OwnedFd,
}

/// The end that is read from.
pub(crate) struct Reader {
    end: End,
    multishot: Option<Transport>,
}

/// The end that is written to.
pub(crate) struct Writer {
    end: End,
}

impl End {
    fn new(queue: Rc<Queue>, fd: OwnedFd) -> Self {
        End {
            queue,
            operation: Rc::default(),
            fd,
        }
    }

    fn begin(&self, build: impl FnOnce(types::Fd, *mut u8) -> squeue::Entry) -> io::Result<()> {
        let fd = types::Fd(self.fd.as_raw_fd());
        let entry = build(fd, self.operation.byte());
        // SAFETY: the descriptor is closed by the drop of this end, which cancels the operation
        // first; entries made here point to the operation's byte or to nothing.
        unsafe { self.queue.begin(&self.operation, entry) }
    }
}

impl Drop for End {
    /// The kernel keeps a file open as long as an operation on it is in flight, and the other end
    /// of the link would wait for ever.
    fn drop(&mut self) {
        if let Err(e) = self.queue.cancel(&self.operation) {
            console::say(format_args!("cannot cancel an operation: {e}"));
        }
    }
}

impl Reader {
    pub(super) fn new(queue: Rc<Queue>, fd: OwnedFd, multishot: Option<Transport>) -> Self {
        Reader {
            end: End::new(queue, fd),
            multishot,
        }
    }

    /// A read of one byte. One whose future was dropped goes on, and its byte is the next call's.
    async fn read_once(&mut self) -> io::Result<Option<u8>> {
        let operation = &self.end.operation;
        if operation.is_idle() {
            self.end
                .begin(|fd, byte| opcode::Read::new(fd, byte, 1).build())?;
        }
        match poll_fn(|cx| operation.poll(cx)).await? {
            0 => Ok(None),
            _ => Ok(Some(operation.get())),
        }
    }

    /// The next byte of those that an operation which stays brings in.
    fn poll_arrived(
        &self,
        transport: Transport,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<u8>>> {
        let operation = &self.end.operation;
        loop {
            if let Some(byte) = operation.next_arrived() {
                return Poll::Ready(Ok(Some(byte)));
            }
            if operation.is_idle() {
                self.end.begin(|fd, _| match transport {
                    Transport::Pipe => opcode::ReadMulti::new(fd, 0, GROUP).build(),
                    Transport::Socketpair => opcode::RecvMulti::new(fd, GROUP).build(),
                })?;
            }
            match ready!(operation.poll(cx)) {
                Ok(_) => return Poll::Ready(Ok(None)),
                // All buffers were taken when more came. They are back by now.
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }
}

impl Source for Reader {
    async fn read(&mut self) -> io::Result<Option<u8>> {
        match self.multishot {
            None => self.read_once().await,
            Some(transport) => poll_fn(|cx| self.poll_arrived(transport, cx)).await,
        }
    }
}

impl Writer {
    pub(super) fn new(queue: Rc<Queue>, fd: OwnedFd) -> Self {
        Writer {
            end: End::new(queue, fd),
        }
    }
}

impl Sink for Writer {
    async fn write(&mut self, token: u8) -> io::Result<()> {
        let operation = &self.end.operation;
        if !operation.is_idle() {
            // An earlier one whose future was dropped.
            poll_fn(|cx| operation.poll(cx)).await?;
        }
        operation.set(token);
        self.end
            .begin(|fd, byte| opcode::Write::new(fd, byte, 1).build())?;
        match poll_fn(|cx| operation.poll(cx)).await? {
            0 => Err(ErrorKind::WriteZero.into()),
            _ => Ok(()),
        }
    }
}
