//! Tokens that are handed on in memory, a number or a buffer that begins with one, and the side that
//! puts them into the chain.

use std::mem;
use std::slice::ChunksMut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::ValueEnum;
use contract::message::{Claim, Description, Need, Needs};
use contract::units::Bytes;
use contract::{BadUsage, Flags};

use crate::flags::{set_size, token_size};
use crate::token::check_number;
use crate::{ChainsFlags, Pattern};

/// Tokens of a brigade whose links are in memory.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct MemoryFlags {
    /// Tokens in flight at once
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens: u32,

    /// Size of a token: 1 is a number, more is a buffer, which is handed on and not copied
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "1", value_parser = token_size)]
    pub bytes: Bytes,

    /// Side that puts the tokens of an iteration in
    #[arg(long, value_enum, default_value_t = Injector::Driver)]
    pub feed: Injector,

    /// Memory that a task reads and writes at each hop, one word a cache line
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "0", value_parser = set_size, help_heading = "Advanced")]
    pub touch: Bytes,

    /// Visit the tasks in another order than that of their creation
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, help_heading = "Advanced")]
    pub shuffle: Option<u64>,

    /// Further tasks of the same kind, which wait on links of their own that carry no token
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0, value_parser = clap::value_parser!(u32), help_heading = "Advanced")]
    pub idle: u32,
}

/// Side that puts the tokens of an iteration into the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Injector {
    /// the driver, before it takes one out: the links have to hold all of them
    #[default]
    Driver,
    /// the first task, when the driver sends it the first token; with --tasks 1 a stream from one
    /// producer to one consumer
    FirstTask,
}

impl MemoryFlags {
    /// True if a token is a number alone.
    pub fn is_number(&self) -> bool {
        self.bytes.0 == 1
    }

    /// Checks that the tokens find room in the links, which hold `most`: a driver that puts all of them
    /// in takes none out meanwhile. `remedy` is another thing to do about it.
    pub fn check_room(&self, most: u64, remedy: &str) -> anyhow::Result<()> {
        if self.feed == Injector::FirstTask || u64::from(self.tokens) <= most {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--tokens {} is more than the links hold (at most {most}): lower it, {remedy}, or use --feed first-task",
            self.tokens
        )))
    }

    /// Needs of the links, of so many bytes each, the tokens and the working sets.
    pub fn needs(&self, link: u64) -> Needs {
        let set = self.touch.0.next_multiple_of(64);
        let tokens = u64::from(self.tokens);
        // A token with its place in the driver's list, twice if there is a backlog.
        let token = (self.bytes.0 + 48).saturating_mul(tokens);
        // From 128 KiB on an allocation is a map of its own (M_MMAP_THRESHOLD, mallopt(3)).
        let is_map = |bytes| u64::from(bytes >= 128 << 10);
        Needs {
            maps: Need::new(64 + is_map(self.bytes.0) * tokens, is_map(set) + is_map(link)),
            bytes: Need::new(
                token.saturating_add(self.bytes.0 + link + (4 << 20)),
                link.saturating_add(set),
            ),
            ..Needs::default()
        }
    }

    /// Description of a brigade.
    pub fn describe(
        &self,
        program: &str,
        flags: &Flags,
        chains: ChainsFlags,
        claim: Claim,
        needs: Needs,
    ) -> anyhow::Result<Description> {
        if self.feed == Injector::FirstTask && chains.trips > 1 {
            return Err(BadUsage::new(
                "--feed first-task: its tokens make one round trip: drop it, or use --trips 1",
            ));
        }
        Ok(chains.describe(Description {
            hops: Some(self.hops(flags.tasks)),
            tokens: self.tokens.into(),
            bytes: Some(self.bytes.0 * u64::from(self.tokens)),
            needs: needs.beside(self.idle),
            ..Description::new(program, flags, claim)
        }))
    }

    fn hops(&self, tasks: u32) -> u64 {
        let (tasks, tokens) = (u64::from(tasks), u64::from(self.tokens));
        match self.feed {
            Injector::Driver => (tasks + 1) * tokens,
            Injector::FirstTask => tasks * tokens + 1,
        }
    }

    /// Backlog of the first task, if it puts the tokens in.
    pub fn backlog<M>(&self) -> Option<Backlog<M>> {
        (self.feed == Injector::FirstTask).then(|| Backlog(Arc::default()))
    }
}

/// A token in memory. It is handed on and never copied.
pub trait MemoryToken: Default + Send + Sync + 'static {
    /// Gives it the number that it sets out with, and the other bytes of the pattern.
    fn set_out(&mut self, number: usize, pattern: &Pattern);

    /// The same token with one added to its number.
    #[must_use]
    fn passed(self) -> Self;

    /// Changes its bytes, as a fault does.
    fn change(&mut self, change: impl FnOnce(&mut [u8]));

    /// Checks the `k`th token that came out of a chain of `tasks` tasks, which set out with `number`.
    fn verify(&self, k: usize, number: usize, tasks: u32, pattern: &Pattern) -> anyhow::Result<()>;
}

/// The number alone.
impl MemoryToken for usize {
    fn set_out(&mut self, number: usize, _: &Pattern) {
        *self = number;
    }

    #[inline]
    fn passed(self) -> Self {
        self + 1
    }

    fn change(&mut self, change: impl FnOnce(&mut [u8])) {
        let mut bytes = self.to_le_bytes();
        change(&mut bytes);
        *self = usize::from_le_bytes(bytes);
    }

    fn verify(&self, k: usize, number: usize, tasks: u32, _: &Pattern) -> anyhow::Result<()> {
        check_number(k, *self, number + tasks as usize, tasks)
    }
}

/// Bytes, the first of which is the number. An empty one is no allocation.
#[derive(Debug, Default)]
pub struct Buffer(Box<[u8]>);

impl MemoryToken for Buffer {
    fn set_out(&mut self, number: usize, pattern: &Pattern) {
        let bytes = pattern.token(number as u8);
        if self.0.is_empty() {
            self.0 = bytes.into();
        }
        self.0.copy_from_slice(bytes);
    }

    #[inline]
    fn passed(mut self) -> Self {
        if let Some(number) = self.0.first_mut() {
            *number = number.wrapping_add(1);
        }
        self
    }

    fn change(&mut self, change: impl FnOnce(&mut [u8])) {
        change(&mut self.0);
    }

    fn verify(&self, k: usize, number: usize, tasks: u32, pattern: &Pattern) -> anyhow::Result<()> {
        pattern.verify(k, &self.0, number as u8, tasks)
    }
}

/// Tokens of an iteration, as the driver has them.
#[derive(Debug)]
pub struct Tokens<M> {
    all: Vec<M>,
    /// Number of them in a round trip.
    each: usize,
    pattern: Pattern,
    backlog: Option<Backlog<M>>,
}

impl<M: MemoryToken> Tokens<M> {
    /// Makes them, for so many round trips.
    pub fn new(flags: &MemoryFlags, trips: u32, backlog: Option<Backlog<M>>) -> Self {
        let pattern = Pattern::new(flags.bytes.0 as usize);
        let each = flags.tokens as usize;
        let mut all: Vec<M> = (0..each * trips as usize).map(|_| M::default()).collect();
        all.iter_mut().for_each(|token| token.set_out(0, &pattern));
        Tokens { all, each, pattern, backlog }
    }

    /// Makes them ready for an iteration, the `k`th with the number `iteration + k`. Returns how many
    /// of them the driver sends itself, and all: those that it sends, and room for what comes out.
    pub fn set_out(&mut self, iteration: u64) -> (usize, &mut [M]) {
        for (k, token) in self.all.iter_mut().enumerate() {
            token.set_out(iteration as usize + k, &self.pattern);
        }
        let Some(backlog) = &self.backlog else { return (self.each, &mut self.all) };
        backlog.lock().extend(self.all.iter_mut().skip(1).rev().map(mem::take));
        (1, &mut self.all)
    }

    /// The same for each round trip.
    pub fn set_out_trips(&mut self, iteration: u64) -> (usize, ChunksMut<'_, M>) {
        let each = self.each;
        let (sent, all) = self.set_out(iteration);
        (sent, all.chunks_mut(each))
    }

    /// Checks what came out of a chain of `tasks` tasks in an iteration.
    pub fn verify(&self, iteration: u64, tasks: u32) -> anyhow::Result<()> {
        let mut tokens = self.all.iter().enumerate();
        tokens.try_for_each(|(k, token)| {
            token.verify(k, iteration as usize + k, tasks, &self.pattern)
        })
    }
}

/// Tokens that the first task passes on after the one that it was sent. The driver fills it before
/// each iteration.
#[derive(Debug)]
pub struct Backlog<M>(Arc<Mutex<Vec<M>>>);

impl<M> Backlog<M> {
    /// Takes all that is there, the last one first, and leaves an empty vector.
    pub fn take(&self, into: &mut Vec<M>) {
        mem::swap(into, &mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> Clone for Backlog<M> {
    fn clone(&self) -> Self {
        Backlog(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(tokens: u32, bytes: u64, feed: Injector) -> MemoryFlags {
        MemoryFlags { tokens, bytes: Bytes(bytes), feed, touch: Bytes(0), shuffle: None, idle: 0 }
    }

    /// Result of a token that went through three of so many tasks, its last byte inverted if `corrupt`.
    fn through<M: MemoryToken>(bytes: u64, tasks: u32, corrupt: bool) -> anyhow::Result<()> {
        let mut tokens = Tokens::<M>::new(&flags(1, bytes, Injector::Driver), 1, None);
        let (_, all) = tokens.set_out(300);
        for _ in 0..3 {
            all[0] = mem::take(&mut all[0]).passed();
        }
        if corrupt {
            all[0].change(|bytes| bytes[bytes.len() - 1] ^= 0xff);
        }
        tokens.verify(300, tasks)
    }

    #[test]
    fn a_token_that_skipped_a_task_or_was_changed_is_wrong() {
        for (tasks, corrupt) in [(3, false), (4, false), (3, true)] {
            let is_right = tasks == 3 && !corrupt;
            assert_eq!(through::<usize>(1, tasks, corrupt).is_ok(), is_right);
            assert_eq!(through::<Buffer>(4096, tasks, corrupt).is_ok(), is_right);
        }
    }

    #[test]
    fn the_start_of_a_stream_is_one_hop_and_needs_no_room() {
        let [driver, first] =
            [Injector::Driver, Injector::FirstTask].map(|feed| flags(10, 1, feed));
        assert_eq!((driver.hops(3), first.hops(3)), (40, 31));
        assert!(driver.check_room(10, "").is_ok() && first.check_room(9, "").is_ok());
        let error = driver.check_room(9, "raise --tasks").unwrap_err().to_string();
        assert!(error.contains("--tokens 10") && error.contains("at most 9"), "{error}");
    }
}
