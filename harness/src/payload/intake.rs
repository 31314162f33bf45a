//! What tokens are read into.

use std::io::{self, ErrorKind};
use std::slice;

use super::Payload;

/// What a task reads into. A program's loop is compiled for each kind by itself, so that a token of
/// one byte costs no account of what has come of it.
pub trait Intake: Clone + Send + 'static {
    /// Where the next read puts what comes.
    fn room(&mut self) -> &mut [u8];

    /// Goes through the tokens that are whole now that a read has brought so many bytes.
    fn whole(&mut self, read: usize) -> impl Iterator<Item = &mut [u8]> + Send;

    /// How much to ask for where `came` bytes are there already, as [`Intake::room`] would.
    fn ask(&self, came: usize) -> usize;

    /// Called at the end of file.
    ///
    /// # Errors
    /// `UnexpectedEof` in the middle of a token.
    fn end(&self) -> io::Result<()>;
}

/// A token of one byte, in the task itself.
impl Intake for [u8; 1] {
    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self
    }

    #[inline]
    fn whole(&mut self, read: usize) -> impl Iterator<Item = &mut [u8]> + Send {
        self[..read].iter_mut().map(slice::from_mut)
    }

    #[inline]
    fn ask(&self, _: usize) -> usize {
        1
    }

    fn end(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Several tokens of one byte.
impl Intake for Vec<u8> {
    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self
    }

    #[inline]
    fn whole(&mut self, read: usize) -> impl Iterator<Item = &mut [u8]> + Send {
        self[..read].iter_mut().map(slice::from_mut)
    }

    #[inline]
    fn ask(&self, _: usize) -> usize {
        self.len()
    }

    fn end(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Tokens of several bytes, which may come in parts.
#[derive(Clone, Debug)]
pub struct Parts {
    buffer: Box<[u8]>,
    size: usize,
    /// How much of the buffer has come.
    filled: usize,
    /// How much of that was gone through.
    passed: usize,
}

impl Parts {
    /// A buffer of `read_size` bytes, which is what [`Payload::read_size`] says, for tokens of this size.
    pub fn new(payload: Payload, read_size: usize) -> Self {
        Parts {
            // Written, so that it is resident before anything is timed.
            buffer: vec![u8::MAX; read_size].into_boxed_slice(),
            size: payload.size(),
            filled: 0,
            passed: 0,
        }
    }
}

impl Intake for Parts {
    #[inline]
    fn room(&mut self) -> &mut [u8] {
        if self.passed > 0 {
            self.buffer.copy_within(self.passed..self.filled, 0);
            self.filled -= self.passed;
            self.passed = 0;
        }
        &mut self.buffer[self.filled..]
    }

    #[inline]
    fn whole(&mut self, read: usize) -> impl Iterator<Item = &mut [u8]> + Send {
        self.filled += read;
        self.passed = self.filled - self.filled % self.size;
        self.buffer[..self.passed].chunks_exact_mut(self.size)
    }

    #[inline]
    fn ask(&self, came: usize) -> usize {
        self.buffer.len() - came % self.size
    }

    fn end(&self) -> io::Result<()> {
        match self.filled == self.passed {
            true => Ok(()),
            false => Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the link ended in the middle of a token",
            )),
        }
    }
}
