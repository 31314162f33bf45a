//! How large a token is, and what its bytes are.
//!
//! The first byte is the number that each task adds one to. The others stay as they set out: a
//! window on one long sequence of bytes, which begins where the number says. A byte that is lost or
//! doubled shifts all that follow; swapped bytes or pages, and those of another token, do not fit
//! either.

mod intake;
#[cfg(test)]
mod tests;

use anyhow::{bail, ensure};
use serde::Serialize;

use crate::BadUsage;
use crate::limits::{Demand, Need};
use crate::units::Bytes;

pub use intake::{Intake, Parts};

/// The flag for the size of a token.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct Payload {
    /// The size of each token, up to 1GiB. The first byte is the number that each task adds one to;
    /// the others are a pattern in which a byte lost, doubled or swapped shows. All are checked
    /// after each iteration, untimed
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "1", value_parser = size)]
    pub bytes: Bytes,
}

/// The largest token.
const LARGEST: Bytes = Bytes(1 << 30);

fn size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        Bytes(0) => Err("a token has one byte at least, its number".to_owned()),
        size if size > LARGEST => Err(format!("at most {LARGEST}")),
        size => Ok(size),
    }
}

impl Payload {
    /// Bytes of a token.
    pub fn size(self) -> usize {
        self.bytes.0 as usize
    }

    /// Whether a token is nothing but its number.
    pub fn is_a_byte(self) -> bool {
        self.bytes.0 == 1
    }

    /// Bytes of so many tokens.
    pub fn of(self, tokens: u32) -> u64 {
        self.bytes.0 * u64::from(tokens)
    }

    /// How much a read asks for where `--read-buffer` says `buffer`: a token at least.
    ///
    /// # Errors
    /// A [`BadUsage`] error where a buffer was asked for that is smaller than a token.
    pub fn read_size(self, buffer: usize) -> anyhow::Result<usize> {
        if buffer > 1 && buffer < self.size() {
            return Err(BadUsage::new(format!(
                "--read-buffer {buffer}: a token is larger (--bytes {}): drop it, or raise it to that",
                self.size()
            )));
        }
        Ok(buffer.max(self.size()))
    }

    /// What N tasks that read a token at once need of the system, and their driver: it keeps what
    /// comes out until that is checked. A byte has room in the task itself.
    pub fn demand(self, tokens: u32) -> Demand {
        self.demand_reading(self.size(), tokens)
    }

    /// The same for tasks that read so many bytes at once.
    pub fn demand_reading(self, read_size: usize, tokens: u32) -> Demand {
        Demand::buffers(read_size as u64) + self.demand_in_memory(tokens)
    }

    /// What tokens that are moved and not copied need of the system, and the sequence that their
    /// bytes are taken from.
    pub fn demand_in_memory(self, tokens: u32) -> Demand {
        let need = match self.is_a_byte() {
            true => Need::NONE,
            false => {
                let memory = self.of(tokens) + 64 * u64::from(tokens) + self.bytes.0 + (1 << 12);
                Need {
                    memory,
                    address_space: memory,
                    largest_map: self.of(tokens),
                    ..Need::NONE
                }
            }
        };
        Demand::always("--bytes", need)
    }
}

/// The bytes that tokens set out with.
#[derive(Debug)]
pub struct Pattern {
    /// A window for each of 256 numbers.
    sequence: Box<[u8]>,
    size: usize,
}

impl Pattern {
    /// For tokens of this size.
    pub fn new(payload: Payload) -> Self {
        let size = payload.size();
        Pattern {
            sequence: (0..size + usize::from(u8::MAX)).map(byte).collect(),
            size,
        }
    }

    /// A token that sets out with this number.
    #[inline]
    pub fn token(&self, number: u8) -> &[u8] {
        &self.sequence[usize::from(number)..][..self.size]
    }

    /// Room for so many tokens, one behind the other. It is resident.
    pub fn room_for(&self, tokens: u32) -> Vec<u8> {
        vec![u8::MAX; self.size * tokens as usize]
    }

    /// The same where each read asks for so many bytes, also the last one.
    pub fn room_to_read(&self, tokens: u32, read_size: usize) -> Vec<u8> {
        vec![u8::MAX; self.size * tokens as usize + read_size]
    }

    /// Each of the tokens that have such room.
    #[inline]
    pub fn tokens<'a>(&self, room: &'a mut [u8]) -> impl Iterator<Item = &'a mut [u8]> {
        room.chunks_exact_mut(self.size)
    }

    /// Checks the tokens that came out of a chain of `tasks` tasks, one behind the other: the `k`th
    /// set out with the number `start + k`, and each task added one.
    ///
    /// # Errors
    /// Says which token is wrong, and where: some task was skipped or visited twice, or bytes are
    /// not those that set out.
    pub fn verify(&self, tokens: &[u8], start: u8, tasks: u32) -> anyhow::Result<()> {
        for (k, token) in tokens.chunks(self.size).enumerate() {
            self.verify_token(k, token, start.wrapping_add(k as u8), tasks)?;
        }
        Ok(())
    }

    /// Checks one token, the `k`th, which set out with `number`.
    ///
    /// # Errors
    /// As [`Pattern::verify`].
    pub fn verify_token(
        &self,
        k: usize,
        token: &[u8],
        number: u8,
        tasks: u32,
    ) -> anyhow::Result<()> {
        let sent = self.token(number);
        ensure!(
            token.len() == sent.len(),
            "token {k} came out with {} bytes, expected {}",
            token.len(),
            sent.len()
        );
        let expected = number.wrapping_add(tasks as u8);
        ensure!(
            token[0] == expected,
            "token {k} came out as {}, expected {expected}: it did not visit each of the {tasks} tasks once",
            token[0]
        );
        let mut rest = token.iter().zip(sent).skip(1);
        // Slices are compared faster than bytes are.
        if token[1..] != sent[1..]
            && let Some(i) = rest.position(|(came, sent)| came != sent)
        {
            let (came, sent) = (token[i + 1], sent[i + 1]);
            bail!(
                "byte {} of token {k} came out as {came}, expected {sent}: bytes were lost, doubled or swapped on the way",
                i + 1
            );
        }
        Ok(())
    }
}

/// Byte `j` of the sequence: a ramp, in which neighbours differ, moved by another amount in each
/// 256 bytes, so that it does not repeat (Fibonacci hashing: 2^32 divided by the golden ratio).
fn byte(j: usize) -> u8 {
    let moved = ((j >> 8) as u32).wrapping_mul(2_654_435_761) >> 24;
    (j as u8).wrapping_add(moved as u8)
}
