//! Tokens: their bytes, and what they are read into.
//!
//! The first byte is the number that each task adds one to. The others stay as they set out: a window
//! on one long sequence, whose start is the number, so that a byte lost, doubled or swapped
//! does not fit.

use std::io::{self, ErrorKind};

use anyhow::{bail, ensure};

use crate::ChainFlags;

/// Bytes that tokens set out with.
#[derive(Clone, Debug)]
pub struct Pattern {
    sequence: Box<[u8]>,
    size: usize,
}

impl Pattern {
    /// Tokens of so many bytes.
    pub fn new(size: usize) -> Self {
        Pattern { sequence: (0..size + usize::from(u8::MAX)).map(byte).collect(), size }
    }

    /// Token that sets out with this number.
    #[inline]
    pub fn token(&self, number: u8) -> &[u8] {
        &self.sequence[usize::from(number)..][..self.size]
    }

    /// Room for so many tokens, one behind the other, and for a last read of `read_size` bytes. It is
    /// resident.
    pub fn room(&self, tokens: u32, read_size: usize) -> Vec<u8> {
        vec![u8::MAX; self.size * tokens as usize + read_size]
    }

    /// The tokens in such room.
    #[inline]
    pub fn tokens<'a>(&self, room: &'a mut [u8]) -> impl Iterator<Item = &'a mut [u8]> {
        room.chunks_exact_mut(self.size)
    }

    /// Checks tokens that came out of a chain of `tasks` tasks, one behind the other: the `k`th set out
    /// with the number `start + k`, and each task added one.
    ///
    /// # Errors
    /// Says which token is wrong, and at which byte.
    pub fn verify(&self, tokens: &[u8], start: u8, tasks: u32) -> anyhow::Result<()> {
        let mut tokens = tokens.chunks(self.size).enumerate();
        tokens.try_for_each(|(k, token)| {
            self.verify_token(k, token, start.wrapping_add(k as u8), tasks)
        })
    }

    /// Checks the `k`th token, which set out with `number`.
    pub(crate) fn verify_token(
        &self,
        k: usize,
        token: &[u8],
        number: u8,
        tasks: u32,
    ) -> anyhow::Result<()> {
        let sent = self.token(number);
        check_number(k, token[0].into(), number.wrapping_add(tasks as u8).into(), tasks)?;
        // Slices are compared faster than bytes are.
        if token[1..] != sent[1..] {
            let mut pairs = token.iter().zip(sent).skip(1);
            let at = pairs.position(|(came, sent)| came != sent);
            bail!(
                "byte {} of token {k} is not what set out: bytes were lost, doubled or swapped",
                at.map_or(token.len(), |at| at + 1)
            );
        }
        Ok(())
    }
}

/// Checks the number that the `k`th token came out with.
pub(crate) fn check_number(
    k: usize,
    came: usize,
    expected: usize,
    tasks: u32,
) -> anyhow::Result<()> {
    ensure!(
        came == expected,
        "token {k} came out as {came}, expected {expected}: it did not visit each of the {tasks} tasks once"
    );
    Ok(())
}

/// Byte `j` of the sequence: a ramp, in which neighbours differ, moved by another amount in each
/// 256 bytes, so that it does not repeat (Fibonacci hashing: 2^32 divided by the golden ratio).
fn byte(j: usize) -> u8 {
    let moved = ((j >> 8) as u32).wrapping_mul(2_654_435_761) >> 24;
    (j as u8).wrapping_add(moved as u8)
}

/// Buffer that a task reads tokens into, if they are not single bytes: they may come in parts, and
/// several at once.
#[derive(Clone, Debug)]
pub struct TokenBuffer {
    buffer: Box<[u8]>,
    size: usize,
    /// Bytes that have come.
    filled: usize,
    /// Bytes of those that were passed on.
    passed: usize,
}

impl TokenBuffer {
    /// A buffer for reads of `read_size` bytes, a token at least.
    pub fn new(flags: &ChainFlags, read_size: usize) -> Self {
        let size = flags.token_size();
        TokenBuffer {
            // Written, so that it is resident before anything is timed.
            buffer: vec![u8::MAX; read_size.max(size)].into_boxed_slice(),
            size,
            filled: 0,
            passed: 0,
        }
    }

    /// Place for the bytes of the next read.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        if self.passed > 0 {
            self.buffer.copy_within(self.passed..self.filled, 0);
            self.filled -= self.passed;
            self.passed = 0;
        }
        &mut self.buffer[self.filled..]
    }

    /// Tokens that are whole now that a read has brought so many bytes.
    #[inline]
    pub fn whole(&mut self, read: usize) -> impl Iterator<Item = &mut [u8]> + Send {
        self.filled += read;
        self.passed = self.filled - self.filled % self.size;
        self.buffer[..self.passed].chunks_exact_mut(self.size)
    }

    /// Checks that no part of a token is left at the end of file.
    ///
    /// # Errors
    /// `UnexpectedEof` in the middle of a token.
    pub fn end(&self) -> io::Result<()> {
        if self.filled == self.passed {
            return Ok(());
        }
        Err(io::Error::new(ErrorKind::UnexpectedEof, "the link ended in the middle of a token"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Token as it comes out of a chain of so many tasks.
    fn passed_on(pattern: &Pattern, number: u8, tasks: u8) -> Vec<u8> {
        let mut token = pattern.token(number).to_vec();
        token[0] = token[0].wrapping_add(tasks);
        token
    }

    #[test]
    fn a_token_that_visited_all_tasks_is_right() {
        for pattern in [Pattern::new(1), Pattern::new(5000)] {
            let room: Vec<u8> =
                [250, 251].iter().flat_map(|&n| passed_on(&pattern, n, 9)).collect();
            assert!(pattern.verify(&room, 250, 9).is_ok());
            assert!(pattern.verify(&room, 250, 8).is_err());
            assert!(pattern.verify(&room, 251, 9).is_err());
        }
    }

    #[test]
    fn any_wrong_byte_is_found() {
        let pattern = Pattern::new(1000);
        let token = passed_on(&pattern, 3, 2);
        for at in [0, 1, 255, 256, 999] {
            let mut wrong = token.clone();
            wrong[at] ^= 0x80;
            assert!(pattern.verify(&wrong, 3, 2).is_err(), "{at}");
        }
        let mut doubled = token.clone();
        doubled.copy_within(500..999, 501);
        assert!(pattern.verify(&doubled, 3, 2).is_err());
    }

    #[test]
    fn parts_of_tokens_are_put_together() {
        let sent: Vec<u8> = (1..=15).collect();
        for (read_size, step) in [(5, 1), (5, 5), (7, 3), (7, 7), (12, 11)] {
            let buffer = vec![0; read_size].into_boxed_slice();
            let mut buffer = TokenBuffer { buffer, size: 5, filled: 0, passed: 0 };
            let (mut rest, mut came) = (&sent[..], Vec::new());
            while !rest.is_empty() {
                let room = buffer.room();
                let most = step.min(room.len());
                let read = rest.read(&mut room[..most]).unwrap();
                buffer.whole(read).for_each(|token| came.extend_from_slice(token));
            }
            assert_eq!(came, sent, "{read_size} {step}");
            assert!(buffer.end().is_ok());
            buffer.room()[0] = 1;
            assert!(buffer.whole(1).next().is_none());
            assert!(buffer.end().is_err());
        }
    }
}
