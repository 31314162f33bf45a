//! Bytes of the bodies. They follow from the body's number, so that a receiver knows the body's summary.
//!
//! All bytes are in the lower half of the range, except the last one, the peak. Its value differs from body to body, so
//! that a body without its end, or another body, has another maximum.

use bytes::Bytes;
use fastrand::Rng;

/// Bytes after which the sequence repeats, a multiple of [`CHUNK`]: the sender holds no more.
const PERIOD: u64 = 1 << 20;

/// Bytes of the chunks that the server sends.
pub(crate) const CHUNK: u64 = 8 << 10;

/// Least value of a peak.
const HALF: u8 = 0x80;

/// Length and largest byte of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Largest byte; 0 if there is none.
    max: u8,
    pub(crate) length: u64,
}

impl Summary {
    /// Summary of body `number` of this size.
    pub(crate) fn expected(number: u64, size: u64) -> Self {
        Summary { max: peak(number), length: size }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        // A fold, without an early end at 255: the compiler vectorises it.
        self.max = bytes.iter().fold(self.max, |max, &byte| max.max(byte));
        self.length += bytes.len() as u64;
    }
}

fn peak(number: u64) -> u8 {
    HALF | number as u8
}

#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) size: u64,
    base: Bytes,
}

impl Content {
    /// Draws the bytes of bodies of this size.
    pub(crate) fn new(size: u64) -> Self {
        // Whole chunks, so that each is one slice.
        let mut base = vec![0; PERIOD.min(size) as usize];
        Rng::with_seed(0).fill(&mut base);
        base.iter_mut().for_each(|byte| *byte &= HALF - 1);
        Content { size, base: base.into() }
    }

    /// Chunk of a body, `offset` bytes from its start, a multiple of the chunk's size. The bytes are shared, and only
    /// the last chunk is copied.
    pub(crate) fn chunk(&self, number: u64, offset: u64) -> Bytes {
        let length = CHUNK.min(self.size - offset);
        let start = (offset % self.base.len() as u64) as usize;
        let chunk = self.base.slice(start..start + length as usize);
        if offset + length < self.size {
            return chunk;
        }
        let mut own = chunk.to_vec();
        own[length as usize - 1] = peak(number);
        own.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_body_has_its_expected_summary_and_one_peak() {
        for size in [1, 7, 10_000, (3 << 20) + 1000] {
            let content = Content::new(size);
            for number in [0, 1, u64::MAX] {
                let (mut summary, mut peaks) = (Summary::default(), 0);
                while summary.length < size {
                    let chunk = content.chunk(number, summary.length);
                    summary.add(&chunk);
                    peaks += chunk.iter().filter(|&&byte| byte >= HALF).count();
                }
                assert_eq!((summary, peaks), (Summary::expected(number, size), 1), "{size}");
            }
        }
    }
}
