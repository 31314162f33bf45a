//! A link made of an eventfd(2): a counter in the kernel, which a write adds to and a read takes as
//! a whole.
//!
//! It carries no bytes and has no end of file, so both are made out of what it counts:
//!
//! - A token is more than half of what the counter can hold. A second one does not fit while the
//!   first is there, so that a write waits, or finds EAGAIN, until the first is read, and tokens never
//!   add up: the link holds one.
//! - The end is a number that can be told from tokens and fits beside one. Who drops the end to write
//!   to adds it.
//! - Who drops the end to read from has nobody to write to. A mark in memory tells the writer, as
//!   EPIPE would, and a last read lets go a writer that waits for room.
//!
//! Both ends are one descriptor. The mark is why both have to be in one process.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::Mode;
use crate::link_ended;

/// A token without its byte. Kernel fact (`eventfd_write`, fs/eventfd.c): a write waits until the sum
/// is below 2^64 - 1.
const TOKEN: u64 = 1 << 63;

/// Nothing comes after this.
const END: u64 = 1 << 32;

/// The descriptor of a link, with what the kernel does not keep.
#[derive(Debug)]
pub struct Counter {
    fd: EventFd,
    /// Nobody reads any more.
    deserted: AtomicBool,
}

/// What a read has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The token, if there was one.
    pub token: Option<u8>,
    /// Whether it was the last.
    pub ended: bool,
}

impl Counter {
    /// Makes one, which closes on exec.
    ///
    /// # Errors
    /// What eventfd2(2) reports: EMFILE and ENFILE mean too few descriptors.
    pub fn new(mode: Mode) -> io::Result<Self> {
        let flags = match mode {
            Mode::Blocking => EfdFlags::empty(),
            Mode::NonBlocking => EfdFlags::EFD_NONBLOCK,
        };
        let fd = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | flags)?;
        Ok(Counter {
            fd,
            deserted: AtomicBool::new(false),
        })
    }

    /// Takes what is in the link.
    ///
    /// # Errors
    /// What read(2) reports: EAGAIN for an empty link that does not wait.
    pub fn take(&self) -> io::Result<Taken> {
        let count = self.fd.read()?;
        Ok(Taken {
            token: (count & TOKEN != 0).then_some(count as u8),
            ended: count & END != 0,
        })
    }

    /// Puts a token into the link.
    ///
    /// # Errors
    /// `BrokenPipe` when nobody reads any more; otherwise what write(2) reports: EAGAIN for a full
    /// link that does not wait.
    pub fn put(&self, token: u8) -> io::Result<()> {
        if self.deserted.load(Ordering::Acquire) {
            return Err(link_ended(()));
        }
        self.fd.write(TOKEN | u64::from(token))?;
        Ok(())
    }

    /// The writer goes.
    pub fn end(&self) {
        // It fits whatever is in the link, so that there is nothing to wait for or to fail.
        let _ = self.fd.write(END);
    }

    /// The reader goes.
    pub fn desert(&self) {
        self.deserted.store(true, Ordering::Release);
        // At most one write was begun before the mark: once the link is empty it has room.
        let mut fds = [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN)];
        if let Ok(1..) = poll(&mut fds, PollTimeout::ZERO) {
            let _ = self.fd.read();
        }
    }
}

impl AsFd for Counter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Counter {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_fd().as_raw_fd()
    }
}

/// Makes a link.
///
/// # Errors
/// As [`Counter::new`].
pub fn link(mode: Mode) -> io::Result<(Reader, Writer)> {
    let counter = Arc::new(Counter::new(mode)?);
    let reader = Reader {
        counter: Arc::clone(&counter),
        ended: false,
    };
    Ok((reader, Writer(counter)))
}

/// The end that is read from, a token at a time.
#[derive(Debug)]
pub struct Reader {
    counter: Arc<Counter>,
    ended: bool,
}

/// The end that is written to, a token at a time.
#[derive(Debug)]
pub struct Writer(Arc<Counter>);

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = buffer.first_mut().filter(|_| !self.ended) else {
            return Ok(0);
        };
        let taken = self.counter.take()?;
        self.ended = taken.ended;
        Ok(taken.token.map_or(0, |token| {
            *first = token;
            1
        }))
    }
}

impl Write for Writer {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let Some(&first) = buffer.first() else {
            return Ok(0);
        };
        self.0.put(first)?;
        Ok(1)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Reader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.counter.desert();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::thread;

    #[test]
    fn tokens_come_out_as_they_went_in_and_then_the_end() {
        for mode in [Mode::Blocking, Mode::NonBlocking] {
            let (mut reader, mut writer) = link(mode).unwrap();
            let mut buffer = [9; 2];
            for token in [0, 1, 255] {
                assert_eq!(writer.write(&[token, 7]).unwrap(), 1);
                assert_eq!(reader.read(&mut buffer).unwrap(), 1);
                assert_eq!(buffer, [token, 9]);
            }
            writer.write_all(&[3]).unwrap();
            drop(writer);
            assert_eq!(reader.read(&mut buffer).unwrap(), 1);
            assert_eq!(buffer[0], 3, "the token before the end");
            assert_eq!(reader.read(&mut buffer).unwrap(), 0);
            assert_eq!(reader.read(&mut buffer).unwrap(), 0, "it stays the end");
        }
    }

    #[test]
    fn tokens_do_not_add_up() {
        let counter = Counter::new(Mode::NonBlocking).unwrap();
        let would_block = |e: io::Error| e.kind() == ErrorKind::WouldBlock;
        assert!(would_block(counter.take().unwrap_err()));
        for tokens in [[0, 0], [255, 0], [255, 255]] {
            counter.put(tokens[0]).unwrap();
            assert!(would_block(counter.put(tokens[1]).unwrap_err()));
            let taken = counter.take().unwrap();
            assert_eq!(taken.token, Some(tokens[0]));
            assert!(!taken.ended);
        }
    }

    #[test]
    fn a_reader_that_is_gone_is_an_error_to_the_writer() {
        let (reader, mut writer) = link(Mode::Blocking).unwrap();
        writer.write_all(&[1]).unwrap();
        drop(reader);
        let error = writer.write_all(&[2]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_writer_that_waits_for_room_is_let_go_when_the_reader_goes() {
        for _ in 0..20 {
            let (reader, mut writer) = link(Mode::Blocking).unwrap();
            let waiting = thread::spawn(move || {
                loop {
                    if let Err(e) = writer.write_all(&[1]) {
                        return e.kind();
                    }
                }
            });
            drop(reader);
            assert_eq!(waiting.join().unwrap(), ErrorKind::BrokenPipe);
        }
    }

    #[test]
    fn the_end_wakes_a_reader_that_sleeps() {
        let (mut reader, writer) = link(Mode::Blocking).unwrap();
        let waiting = thread::spawn(move || reader.read(&mut [0]).unwrap());
        drop(writer);
        assert_eq!(waiting.join().unwrap(), 0);
    }
}
