//! What travels through a chain in memory: a number, or a buffer that begins with one.

use anyhow::ensure;

use crate::payload::{Pattern, Payload};
use crate::test_fault::Ending;

/// A token of a chain in memory. It is handed on and never copied.
pub trait Message: Default + Send + Sync + 'static {
    /// One of the size that was asked for.
    fn new(payload: Payload) -> Self;

    /// Makes it ready to set out with this number.
    fn set_out(&mut self, number: usize, pattern: &Pattern);

    /// What a task hands on: the same, with one added to its number.
    #[must_use]
    fn passed(self) -> Self;

    /// Spoils it where a faulty task is to, which has passed on so many.
    fn spoil(&mut self, fault: Ending, passed: u64);

    /// Checks what came out of a chain of `tasks` tasks as the `k`th, and set out with `number`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    fn verify(&self, k: usize, number: usize, tasks: u32, pattern: &Pattern) -> anyhow::Result<()>;
}

/// Nothing but the number.
impl Message for usize {
    fn new(_: Payload) -> Self {
        0
    }

    fn set_out(&mut self, number: usize, _: &Pattern) {
        *self = number;
    }

    #[inline]
    fn passed(self) -> Self {
        self + 1
    }

    fn spoil(&mut self, fault: Ending, passed: u64) {
        let mut bytes = self.to_le_bytes();
        fault.spoil(passed, &mut bytes);
        *self = usize::from_le_bytes(bytes);
    }

    fn verify(&self, k: usize, number: usize, tasks: u32, _: &Pattern) -> anyhow::Result<()> {
        let expected = number + tasks as usize;
        ensure!(
            *self == expected,
            "token {k} came out as {self}, expected {expected}"
        );
        Ok(())
    }
}

/// Bytes of its own, the first of which is the number. An empty one is no allocation.
#[derive(Debug, Default)]
pub struct Buffer(Box<[u8]>);

impl Message for Buffer {
    fn new(payload: Payload) -> Self {
        Buffer(vec![0; payload.size()].into())
    }

    fn set_out(&mut self, number: usize, pattern: &Pattern) {
        self.0.copy_from_slice(pattern.token(number as u8));
    }

    #[inline]
    fn passed(mut self) -> Self {
        if let Some(number) = self.0.first_mut() {
            *number = number.wrapping_add(1);
        }
        self
    }

    fn spoil(&mut self, fault: Ending, passed: u64) {
        fault.spoil(passed, &mut self.0);
    }

    fn verify(&self, k: usize, number: usize, tasks: u32, pattern: &Pattern) -> anyhow::Result<()> {
        pattern.verify_token(k, &self.0, number as u8, tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    /// What becomes of a token that goes through so many tasks, `spoil`ed on the way.
    fn through<M: Message>(bytes: u64, tasks: u32, spoil: Option<Ending>) -> anyhow::Result<()> {
        let payload = Payload {
            bytes: Bytes(bytes),
        };
        let pattern = Pattern::new(payload);
        let mut token = M::new(payload);
        token.set_out(300, &pattern);
        for _ in 0..3 {
            token = token.passed();
        }
        if let Some(fault) = spoil {
            token.spoil(fault, 1000);
        }
        token.verify(0, 300, tasks, &pattern)
    }

    #[test]
    fn a_token_that_each_task_added_one_to_is_right() {
        assert!(through::<usize>(1, 3, None).is_ok());
        for bytes in [2, 3, 4096] {
            assert!(through::<Buffer>(bytes, 3, None).is_ok());
        }
    }

    #[test]
    fn a_token_that_skipped_a_task_or_was_spoiled_is_not() {
        let outcomes = [
            through::<usize>(1, 4, None),
            through::<Buffer>(2, 4, None),
            through::<usize>(1, 3, Some(Ending::Corrupt)),
            through::<Buffer>(4096, 3, Some(Ending::Corrupt)),
        ];
        assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
    }
}
