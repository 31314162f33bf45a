//! Tokens of a chain of descriptors: a byte each, the number that each task adds one to.

use std::slice::ChunksMut;

use anyhow::ensure;

use crate::ChainFlags;

/// Tokens of an iteration: the bytes that set out, and room for those that come out.
#[derive(Clone, Debug)]
pub struct ByteTokens {
    all: Vec<u8>,
    /// Number of them in a round trip.
    each: usize,
}

impl ByteTokens {
    /// The tokens of a chain, for so many round trips an iteration. Their memory is resident.
    pub fn new(flags: &ChainFlags, trips: u32) -> Self {
        let each = flags.tokens as usize;
        ByteTokens { all: vec![u8::MAX; each * trips as usize], each }
    }

    /// Makes them ready for an iteration, the `k`th with the number `iteration + k`.
    pub fn set_out(&mut self, iteration: u64) -> &mut [u8] {
        for (token, number) in self.all.iter_mut().zip(iteration..) {
            *token = number as u8;
        }
        &mut self.all
    }

    /// The same for each round trip.
    pub fn set_out_trips(&mut self, iteration: u64) -> ChunksMut<'_, u8> {
        let each = self.each;
        self.set_out(iteration).chunks_mut(each)
    }

    /// Checks the tokens that came out of a chain of `tasks` tasks, each of which added one.
    pub fn verify(&self, iteration: u64, tasks: u32) -> anyhow::Result<()> {
        (0..).zip(&self.all).try_for_each(|(k, &token)| {
            let expected = (iteration + k + u64::from(tasks)) as u8;
            check_number(k as usize, token.into(), expected.into(), tasks)
        })
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
