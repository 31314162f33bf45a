//! Tokens: each is a number, and each task that a token visits adds one to it.

use std::fmt::Display;

use anyhow::ensure;

use crate::ChainFlags;

/// Tokens of an iteration: the numbers that set out, and room for those that come back.
#[derive(Clone, Debug)]
pub struct Tokens<T> {
    tokens: Vec<T>,
    tasks: u32,
}

/// The type of a token. A token of one byte wraps around at 256.
pub trait Number: Copy + Display + Eq {
    /// The number, without the digits for which there is no room.
    fn wrapped(number: u64) -> Self;
}

/// A token that travels through a descriptor.
impl Number for u8 {
    fn wrapped(number: u64) -> Self {
        number as u8
    }
}

/// A token that travels in memory.
impl Number for usize {
    fn wrapped(number: u64) -> Self {
        number as usize
    }
}

impl<T: Number> Tokens<T> {
    /// The tokens of a chain. Their memory is written to, so that it is resident before anything is timed.
    pub fn new(chain: &ChainFlags) -> Self {
        Tokens { tokens: vec![T::wrapped(u64::MAX); chain.tokens as usize], tasks: chain.tasks() }
    }

    /// Prepares the tokens for an iteration: token k is the number `iteration + k`.
    pub fn set_out(&mut self, iteration: u64) -> &mut [T] {
        for (token, number) in self.tokens.iter_mut().zip(iteration..) {
            *token = T::wrapped(number);
        }
        &mut self.tokens
    }

    /// Checks the tokens that came back: each of the tasks has added one.
    pub fn verify(&self, iteration: u64) -> anyhow::Result<()> {
        (0..).zip(&self.tokens).try_for_each(|(k, &token)| {
            let expected = T::wrapped(iteration + k + u64::from(self.tasks));
            ensure!(
                token == expected,
                "token {k} came out as {token}, expected {expected}: it did not visit each of the {} tasks once",
                self.tasks
            );
            Ok(())
        })
    }
}
