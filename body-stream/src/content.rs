//! Bytes of the bodies. They follow from the number of the body, so that a receiver knows what each body must come to.
//!
//! A body has bytes of the lower half of the range, and one byte of the upper half, its peak. Place and
//! value of the peak differ from body to body: a part of a body, or another body, most likely has another
//! maximum.

use std::fmt;

use bytes::Bytes;
use fastrand::Rng;

/// Bytes after which the sequence repeats, about: the sender holds no more.
const PERIOD: u64 = 1 << 20;

/// Bytes of the pieces that the server sends, each of them a chunk.
pub(crate) const PIECE: u64 = 8 << 10;

/// Least value of a peak.
const HALF: u8 = 0x80;

/// Length and largest byte of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Largest byte; 0 where there is none.
    max: u8,
    /// Number of bytes.
    pub(crate) length: u64,
}

impl Summary {
    /// Adds some more bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        // A fold, without an early end at 255: the compiler vectorises it.
        self.max = bytes.iter().fold(self.max, |max, &byte| max.max(byte));
        self.length += bytes.len() as u64;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { max, length } = self;
        write!(f, "{length} bytes, the largest {max}")
    }
}

/// Bodies of a run, by the bytes of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outline(pub(crate) u64);

/// Largest byte of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peak {
    at: u64,
    pub(crate) value: u8,
}

impl Outline {
    /// Peak of body `number`.
    pub(crate) fn peak(self, number: u64) -> Peak {
        let mut rng = rng(number.wrapping_add(1));
        Peak { at: rng.u64(0..self.0), value: rng.u8(HALF..) }
    }

    /// Summary of body `number`.
    pub(crate) fn summary(self, number: u64) -> Summary {
        Summary { max: self.peak(number).value, length: self.0 }
    }
}

fn rng(purpose: u64) -> Rng {
    // Fibonacci hashing: seeds that are near each other end up far apart.
    Rng::with_seed(purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The sender's bytes, in pieces of one size.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) outline: Outline,
    base: Bytes,
    piece: u64,
}

impl Content {
    /// Draws the bytes, for bodies that are sent in pieces of `piece` bytes.
    pub(crate) fn new(outline: Outline, piece: u64) -> Self {
        let piece = piece.min(outline.0);
        // Whole pieces, so that each is one slice.
        let length = PERIOD.min(outline.0).div_ceil(piece) * piece;
        let mut base = vec![0; length as usize];
        rng(0).fill(&mut base);
        for byte in &mut base {
            *byte &= HALF - 1;
        }
        Content { outline, base: base.into(), piece }
    }

    /// Piece of a body with this peak, `offset` bytes from its start, a multiple of the pieces' size.
    /// The bytes are shared, and only the piece with the peak is copied.
    pub(crate) fn piece(&self, peak: Peak, offset: u64) -> Bytes {
        let length = self.piece.min(self.outline.0 - offset);
        let start = (offset % self.base.len() as u64) as usize;
        let piece = self.base.slice(start..start + length as usize);
        match peak.at.checked_sub(offset) {
            Some(within) if within < length => {
                let mut own = piece.to_vec();
                own[within as usize] = peak.value;
                own.into()
            }
            _ => piece,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(content: &Content, number: u64) -> Vec<u8> {
        let peak = content.outline.peak(number);
        let mut body = Vec::new();
        while (body.len() as u64) < content.outline.0 {
            body.extend_from_slice(&content.piece(peak, body.len() as u64));
        }
        body
    }

    #[test]
    fn each_body_comes_to_what_is_expected_of_it() {
        for (size, piece) in [(1, 1), (7, 3), (10_000, 1 << 20), (3 << 20, 1000)] {
            let outline = Outline(size);
            let content = Content::new(outline, piece);
            for number in [0, 1, u64::MAX] {
                let body = body(&content, number);
                let mut summary = Summary::default();
                summary.add(&body);
                assert_eq!(summary, outline.summary(number), "{size} in {piece}");
                let peaks = body.iter().filter(|&&byte| byte >= HALF);
                assert_eq!(peaks.count(), 1, "{size} in {piece}");
            }
        }
    }
}
