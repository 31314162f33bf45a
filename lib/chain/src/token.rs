//! Tokens: their bytes, and what they are read into.
//!
//! The first byte is the number that each task adds one to. The others stay as they set out: a window
//! on one long sequence, whose start is the number, so that a byte lost, doubled or swapped
//! does not fit.

use std::io::{self, ErrorKind};

use anyhow::{bail, ensure};

use crate::ChainFlags;

/// Tokens of an iteration: the bytes that set out, and room for those that come out.
#[derive(Clone, Debug)]
pub struct ByteTokens {
    pattern: Pattern,
    /// Number of them in a round trip.
    count: u32,
    received: Vec<u8>,
}

impl ByteTokens {
    /// The tokens of a chain, for so many round trips an iteration. Their memory is resident.
    pub fn new(flags: &ChainFlags, trips: u32) -> Self {
        let (size, count) = (flags.token_size(), flags.tokens);
        let received = vec![u8::MAX; size * count as usize * trips as usize];
        ByteTokens { pattern: Pattern::new(size), count, received }
    }

    /// Tokens that set out in an iteration, the `k`th with the number `iteration + k`.
    #[inline]
    pub fn sent(&self, iteration: u64) -> impl Iterator<Item = &[u8]> + Send {
        (0..self.count).map(move |k| self.pattern.token((iteration as u8).wrapping_add(k as u8)))
    }

    /// Room for the tokens that come out.
    #[inline]
    pub fn received(&mut self) -> impl Iterator<Item = &mut [u8]> + Send {
        self.received.chunks_exact_mut(self.pattern.size)
    }

    /// For each round trip of an iteration, the tokens that set out and room for those that come out.
    #[inline]
    pub fn trips(
        &mut self,
        iteration: u64,
    ) -> impl Iterator<
        Item = (impl Iterator<Item = &[u8]> + Send, impl Iterator<Item = &mut [u8]> + Send),
    > + Send {
        let (pattern, size, count) = (&self.pattern, self.pattern.size, self.count as usize);
        let trips = self.received.chunks_exact_mut(size * count);
        trips.zip((iteration as usize..).step_by(count)).map(move |(received, first)| {
            let sent = (0..count).map(move |k| pattern.token(first.wrapping_add(k) as u8));
            (sent, received.chunks_exact_mut(size))
        })
    }

    /// Checks the tokens that came out of a chain of `tasks` tasks, each of which added one.
    pub fn verify(&self, iteration: u64, tasks: u32) -> anyhow::Result<()> {
        let mut tokens = self.received.chunks_exact(self.pattern.size).enumerate();
        tokens.try_for_each(|(k, token)| {
            self.pattern.verify(k, token, (iteration as u8).wrapping_add(k as u8), tasks)
        })
    }
}

/// Bytes that tokens set out with.
#[derive(Clone, Debug)]
struct Pattern {
    sequence: Box<[u8]>,
    size: usize,
}

impl Pattern {
    /// Tokens of so many bytes.
    fn new(size: usize) -> Self {
        Pattern { sequence: (0..size + usize::from(u8::MAX)).map(byte).collect(), size }
    }

    /// Token that sets out with this number.
    #[inline]
    fn token(&self, number: u8) -> &[u8] {
        &self.sequence[usize::from(number)..][..self.size]
    }

    /// Checks the `k`th token, which set out with `number`.
    fn verify(&self, k: usize, token: &[u8], number: u8, tasks: u32) -> anyhow::Result<()> {
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

    /// Checks that no part of a token is left at the end of file (`UnexpectedEof`).
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

    #[test]
    fn a_token_that_skipped_a_task_or_has_a_wrong_byte_is_found() {
        for size in [1, 5000] {
            let mut tokens =
                ByteTokens { pattern: Pattern::new(size), count: 2, received: vec![0; 2 * size] };
            let sent = [250, 251].map(|number| tokens.pattern.token(number).to_vec());
            for (token, sent) in tokens.received().zip(sent) {
                token.copy_from_slice(&sent);
                token[0] = token[0].wrapping_add(9);
            }
            assert!(tokens.verify(250, 9).is_ok());
            assert!(tokens.verify(250, 8).is_err());
            assert!(tokens.verify(251, 9).is_err());
            for at in [0, 1, 255, 256, 999].into_iter().filter(|&at| at < size) {
                tokens.received[size + at] ^= 0x80;
                assert!(tokens.verify(250, 9).is_err(), "{at}");
                tokens.received[size + at] ^= 0x80;
            }
            if size > 1 {
                tokens.received.copy_within(500..999, 501);
                assert!(tokens.verify(250, 9).is_err(), "a byte is doubled");
            }
        }
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
