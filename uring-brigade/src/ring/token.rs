//! Memory of a token.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};

/// The memory of a token. The kernel reads and writes there, so that an operation owns it meanwhile and
/// leaves an empty one in its place.
pub(crate) trait Token: Default + Clone + 'static {
    /// Its bytes.
    fn bytes(&mut self) -> &mut [u8];

    /// Fills it with the first bytes that came, if there are enough.
    fn take_from(&mut self, arrived: &mut VecDeque<u8>) -> bool;
}

/// A token of one byte, without an allocation.
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

/// Error of an end of file in the middle of a token.
pub(super) fn cut_short() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the link ended in the middle of a token")
}
