//! The ends of a link: read and write operations as futures.

#![expect(unsafe_code, reason = "operations are handed over to the kernel")]

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use chain::{Fault, Misbehaviour};
use contract::console;
use io_uring::{opcode, squeue, types};

use super::Token;
use super::queue::{Operation, Queue};

/// A descriptor, and the operation on it.
struct End<T: Token> {
    queue: Rc<Queue<T>>,
    operation: Rc<Operation<T>>,
    fd: OwnedFd,
    /// Bytes of the operation's token that were read or written.
    done: usize,
}

/// The end that is read from.
pub(crate) struct Reader<T: Token> {
    end: End<T>,
    /// A fault that a test asks for.
    fault: Option<Box<Misbehaviour>>,
}

/// The end that is written to.
pub(crate) struct Writer<T: Token> {
    end: End<T>,
}

impl<T: Token> End<T> {
    fn new(queue: Rc<Queue<T>>, fd: OwnedFd) -> Self {
        End { queue, operation: Rc::default(), fd, done: 0 }
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
    fn poll_on(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(usize, bool)>> {
        let count = ready!(self.operation.poll(cx))?;
        self.done += count;
        let is_whole = self.done == self.operation.bytes().1;
        if is_whole {
            self.done = 0;
        }
        Poll::Ready(Ok((count, is_whole)))
    }
}

impl<T: Token> Drop for End<T> {
    /// The kernel keeps a file open as long as an operation on it is in flight, and the other end
    /// of the link would wait for ever.
    fn drop(&mut self) {
        if let Err(e) = self.queue.cancel(&self.operation) {
            console::say(&format!("cannot cancel an operation: {e}"));
        }
    }
}

impl<T: Token> Reader<T> {
    pub(super) fn new(queue: Rc<Queue<T>>, fd: OwnedFd) -> Self {
        Reader { end: End::new(queue, fd), fault: None }
    }

    /// The same end with a fault in it.
    pub(crate) fn with(self, fault: Option<Fault>) -> Self {
        Reader { fault: fault.map(|fault| Box::new(Misbehaviour::new(fault))), ..self }
    }

    /// Fills a token, in several reads where it comes in parts; `false` at the end of file.
    ///
    /// # Errors
    /// What the kernel reports.
    pub(crate) fn read(&mut self, token: &mut T) -> impl Future<Output = io::Result<bool>> {
        poll_fn(|cx| match &mut self.fault {
            None => self.end.poll_read(token, cx),
            Some(fault) => self.end.poll_faulty(fault, token, cx),
        })
    }
}

impl<T: Token> End<T> {
    fn poll_faulty(
        &mut self,
        fault: &mut Misbehaviour,
        token: &mut T,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        if fault.hangs() {
            return Poll::Pending;
        }
        if fault.closes() {
            return Poll::Ready(Ok(false));
        }
        let is_whole = ready!(self.poll_read(token, cx))?;
        fault.before_read()?;
        fault.after_read(token.bytes());
        Poll::Ready(Ok(is_whole))
    }

    /// Reads until the token is whole.
    fn poll_read(&mut self, token: &mut T, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            if self.operation.is_idle() {
                if self.done == 0 {
                    self.operation.put(mem::take(token));
                }
                self.begin(|fd, bytes, size| opcode::Read::new(fd, bytes, size).build())?;
            }
            let (count, is_whole) = ready!(self.poll_on(cx))?;
            if count == 0 && self.done > 0 {
                let why = "the link ended in the middle of a token";
                return Poll::Ready(Err(io::Error::new(ErrorKind::UnexpectedEof, why)));
            }
            if count == 0 || is_whole {
                *token = self.operation.take();
                return Poll::Ready(Ok(is_whole));
            }
        }
    }
}

impl<T: Token> Writer<T> {
    pub(super) fn new(queue: Rc<Queue<T>>, fd: OwnedFd) -> Self {
        Writer { end: End::new(queue, fd) }
    }

    /// Writes a token, in several writes where it goes in parts.
    ///
    /// # Errors
    /// What the kernel reports.
    pub(crate) fn write(&mut self, token: &mut T) -> impl Future<Output = io::Result<()>> {
        let mut handed_over = false;
        poll_fn(move |cx| self.poll_write(token, &mut handed_over, cx))
    }

    /// Writes until all of the token is gone. The first call hands it over.
    fn poll_write(
        &mut self,
        token: &mut T,
        handed_over: &mut bool,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let end = &mut self.end;
        if !*handed_over {
            if !end.operation.is_idle() {
                // An earlier write whose future was dropped.
                ready!(end.poll_on(cx))?;
            }
            end.done = 0;
            end.operation.put(mem::take(token));
            *handed_over = true;
        }
        loop {
            if end.operation.is_idle() {
                end.begin(|fd, bytes, size| opcode::Write::new(fd, bytes, size).build())?;
            }
            match ready!(end.poll_on(cx))? {
                (_, true) => {
                    *token = end.operation.take();
                    return Poll::Ready(Ok(()));
                }
                (0, false) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                _ => {}
            }
        }
    }
}
