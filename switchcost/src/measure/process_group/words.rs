//! What a program says on standard error: the end of it, however much that is.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ChildStderr;

/// Bytes that are kept.
const KEPT: usize = 64 << 10;

/// Reads that empty any pipe which nobody writes to any more; one that somebody fills again is left.
const MOST_READS: usize = 64;

/// Standard error of a program that is alive. What it writes while it waits stays in the pipe, so that the
/// runner sleeps while others have their turns.
#[derive(Debug)]
pub(super) struct Words {
    /// `None` once all writers have closed it.
    pipe: Option<ChildStderr>,
    kept: Vec<u8>,
}

impl Words {
    pub(super) fn new(pipe: Option<ChildStderr>) -> Self {
        Words { pipe, kept: Vec::new() }
    }

    /// The end to read from, as long as somebody may write.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Takes some of what there is; false if there is nothing.
    ///
    /// # Errors
    /// Errors of the system.
    pub(super) fn take(&mut self) -> io::Result<bool> {
        let Some(pipe) = &mut self.pipe else { return Ok(false) };
        let mut bytes = [0; KEPT];
        match pipe.read(&mut bytes) {
            Ok(0) => {
                self.pipe = None;
                Ok(false)
            }
            Ok(n) => {
                self.kept.extend_from_slice(&bytes[..n]);
                let surplus = self.kept.len().saturating_sub(KEPT);
                self.kept.drain(..surplus);
                Ok(true)
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(e) if e.kind() == ErrorKind::Interrupted => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// The last of what it said, once it has ended.
    ///
    /// # Errors
    /// Errors of the system.
    pub(super) fn last(&mut self) -> io::Result<String> {
        for _ in 0..MOST_READS {
            if !self.take()? {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&self.kept).trim().to_owned())
    }
}
