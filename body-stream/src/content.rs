//! What the bodies are made of: bytes that follow from a seed, so that who receives one knows what
//! it must come to without having seen it.
//!
//! Each body is drawn from the lower half of the byte's range, but for one byte, the largest. Where
//! it stands and what it is differs from body to body: who has not seen all of a body, or has seen
//! another one, most likely finds another maximum.

use std::fmt;

use bytes::Bytes;
use fastrand::Rng;

/// About so many bytes are drawn; then they repeat, so that the sender has little to hold.
const PERIOD: u64 = 1 << 20;

/// Bytes below this are anywhere, those from here on only at a body's peak.
const HALF: u8 = 0x80;

/// What a body has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// The largest byte; 0 where there is none.
    pub(crate) max: u8,
    /// How many bytes.
    pub(crate) length: u64,
}

impl Summary {
    /// Of nothing yet.
    pub(crate) const NONE: Summary = Summary { max: 0, length: 0 };

    /// Looks at some more bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        // A fold, and not an early end at 255: the compiler makes vectors of it.
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

/// The bodies of a run, as they are agreed on: a size, and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) size: u64,
    pub(crate) seed: u64,
}

/// The largest byte of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peak {
    pub(crate) at: u64,
    pub(crate) value: u8,
}

impl Outline {
    /// Where body `number` has its largest byte.
    pub(crate) fn peak(self, number: u64) -> Peak {
        let mut rng = self.rng(number.wrapping_add(1));
        Peak {
            at: rng.u64(0..self.size),
            value: rng.u8(HALF..),
        }
    }

    /// What body `number` comes to.
    pub(crate) fn summary(self, number: u64) -> Summary {
        Summary {
            max: self.peak(number).value,
            length: self.size,
        }
    }

    /// The draws of one purpose, which have nothing to do with those of another.
    fn rng(self, purpose: u64) -> Rng {
        // An odd number of which half the bits are set: seeds that are near each other end up apart.
        Rng::with_seed(self.seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// The sender's side: the bytes themselves, in pieces of one size.
#[derive(Debug)]
pub(crate) struct Content {
    outline: Outline,
    base: Bytes,
    piece: u64,
}

impl Content {
    /// Draws the bytes, for bodies that are sent in pieces of `piece` bytes.
    pub(crate) fn new(outline: Outline, piece: u64) -> Self {
        let piece = piece.min(outline.size);
        // Whole pieces, so that each is one slice.
        let length = PERIOD.min(outline.size).div_ceil(piece) * piece;
        let mut base = vec![0; length as usize];
        outline.rng(0).fill(&mut base);
        for byte in &mut base {
            *byte &= HALF - 1;
        }
        Content {
            outline,
            base: base.into(),
            piece,
        }
    }

    pub(crate) fn outline(&self) -> Outline {
        self.outline
    }

    /// The piece that begins `offset` bytes into a body with this peak, a multiple of the pieces'
    /// size. The bytes are shared and not copied, but for the piece with the peak.
    pub(crate) fn piece(&self, peak: Peak, offset: u64) -> Bytes {
        let length = self.piece.min(self.outline.size - offset);
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
        while (body.len() as u64) < content.outline.size {
            body.extend_from_slice(&content.piece(peak, body.len() as u64));
        }
        body
    }

    #[test]
    fn each_body_comes_to_what_was_said_of_it() {
        for (size, piece) in [
            (1, 1),
            (7, 3),
            (8192, 8192),
            (10_000, 1 << 20),
            (100_001, 8192),
            (3 << 20, 1000),
        ] {
            let outline = Outline { size, seed: 7 };
            let content = Content::new(outline, piece);
            for number in [0, 1, 2, u64::MAX] {
                let mut summary = Summary::NONE;
                summary.add(&body(&content, number));
                assert_eq!(summary, outline.summary(number), "{size} in {piece}");
            }
        }
    }

    #[test]
    fn a_body_is_the_same_in_pieces_of_any_size() {
        let outline = Outline {
            size: 50_000,
            seed: 3,
        };
        let whole = body(&Content::new(outline, 50_000), 5);
        for piece in [1, 77, 8192] {
            assert_eq!(body(&Content::new(outline, piece), 5), whole);
        }
    }

    #[test]
    fn only_the_peak_is_in_the_upper_half() {
        let outline = Outline {
            size: 30_000,
            seed: 1,
        };
        let body = body(&Content::new(outline, 4096), 9);
        let high: Vec<usize> = (0..body.len()).filter(|&at| body[at] >= HALF).collect();
        assert_eq!(high, [outline.peak(9).at as usize]);
        let kinds: std::collections::BTreeSet<u8> = body.into_iter().collect();
        assert!(kinds.len() > 120, "the rest is drawn from all of the lower");
    }

    #[test]
    fn bodies_and_seeds_differ() {
        let peaks = |seed| {
            let outline = Outline {
                size: 1 << 23,
                seed,
            };
            (0..100).map(|k| outline.peak(k).at).collect::<Vec<_>>()
        };
        let mut distinct = peaks(1);
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 95, "{distinct:?}");
        assert_ne!(peaks(1), peaks(2));
    }
}
