//! Tokens in memory: they are numbers, and either the driver or the first task puts them into the chain.

use std::io;
use std::slice::ChunksMut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::ValueEnum;
use contract::message::{Claim, Description, Need, Needs};
use contract::{BadUsage, Flags};

use crate::token::check_number;
use crate::{ChainsFlags, Fault, FaultFlags, Misbehaviour};

/// Size and tokens of a brigade whose links are in memory.
#[derive(Clone, Debug, clap::Args)]
pub struct MemoryFlags {
    #[command(flatten)]
    #[expect(missing_docs, reason = "flags with docs of their own")]
    pub flags: Flags,

    /// Number of tokens that travel at the same time
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens: u32,

    /// Who puts the tokens into the chain
    #[arg(long, value_enum, default_value_t = Injector::Driver)]
    pub feed: Injector,

    #[command(flatten)]
    #[expect(missing_docs, reason = "hidden flags for tests")]
    pub fault: FaultFlags,
}

/// Side that puts the tokens of an iteration into the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Injector {
    /// the driver: it sends all tokens before it takes one out, so the links must hold them
    #[default]
    Driver,
    /// the first task, once the driver has sent it a token; with --tasks 1 that is a stream from one producer to one
    /// consumer
    FirstTask,
}

impl MemoryFlags {
    /// Tasks of a chain.
    pub fn tasks(&self) -> u32 {
        self.flags.tasks
    }

    /// Checks that the links, which can hold `most` tokens, have room for all of them: a driver sends every token
    /// before it takes one out. `remedy` is a further way out.
    pub fn check_room(&self, most: u64, remedy: &str) -> anyhow::Result<()> {
        if self.feed == Injector::FirstTask || u64::from(self.tokens) <= most {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--tokens {} is more than the links can hold (at most {most}): lower it, {remedy}, or use --feed first-task",
            self.tokens
        )))
    }

    /// Needs of the links, of so many bytes each, and of the tokens.
    pub fn needs(&self, link: u64) -> Needs {
        // A place in the driver's list, and two more if there is a backlog.
        let tokens = u64::from(self.tokens) * 48;
        // From 128 KiB on an allocation is a map of its own (M_MMAP_THRESHOLD, mallopt(3)).
        let maps = u64::from(link >= 128 << 10);
        Needs {
            maps: Need::new(64, maps),
            bytes: Need::new(tokens + link + (4 << 20), link),
            ..Needs::default()
        }
    }

    /// Description of a brigade.
    pub fn describe(
        &self,
        program: &str,
        chains: ChainsFlags,
        claim: Claim,
        needs: Needs,
    ) -> anyhow::Result<Description> {
        self.fault.check(self.tasks(), chains.chains)?;
        if self.feed == Injector::FirstTask && chains.trips > 1 {
            return Err(BadUsage::new(
                "--feed first-task: its tokens make only one round trip: drop it, or use --trips 1",
            ));
        }
        Ok(chains.describe(Description {
            hops: Some(self.hops()),
            tokens: self.tokens.into(),
            bytes: Some(self.tokens.into()),
            needs,
            ..Description::new(program, &self.flags, claim)
        }))
    }

    fn hops(&self) -> u64 {
        let (tasks, tokens) = (u64::from(self.tasks()), u64::from(self.tokens));
        match self.feed {
            Injector::Driver => (tasks + 1) * tokens,
            Injector::FirstTask => tasks * tokens + 1,
        }
    }

    /// Backlog of the first task, if it puts the tokens in.
    pub fn backlog(&self) -> Option<Backlog> {
        (self.feed == Injector::FirstTask).then(Backlog::default)
    }
}

/// Tokens of an iteration, as the driver has them.
#[derive(Debug)]
pub struct Tokens {
    all: Vec<usize>,
    /// Number of tokens in a round trip.
    each: usize,
    backlog: Option<Backlog>,
}

impl Tokens {
    /// Tokens for `trips` round trips.
    pub fn new(flags: &MemoryFlags, trips: u32, backlog: Option<Backlog>) -> Self {
        let each = flags.tokens as usize;
        // Written, so that they are resident before anything is timed.
        Tokens { all: vec![usize::MAX; each * trips as usize], each, backlog }
    }

    /// Prepares the tokens of an iteration: the `k`th is the number `iteration + k`. Returns how many of them the
    /// driver sends itself, and the whole slice, which also has room for the tokens that come out.
    pub fn set_out(&mut self, iteration: u64) -> (usize, &mut [usize]) {
        for (token, number) in self.all.iter_mut().zip(iteration as usize..) {
            *token = number;
        }
        let Some(backlog) = &self.backlog else { return (self.each, &mut self.all) };
        backlog.lock().extend(self.all[1..].iter().rev());
        (1, &mut self.all)
    }

    /// The same for each round trip.
    pub fn set_out_trips(&mut self, iteration: u64) -> (usize, ChunksMut<'_, usize>) {
        let each = self.each;
        let (sent, all) = self.set_out(iteration);
        (sent, all.chunks_mut(each))
    }

    /// Checks what came out of a chain of `tasks` tasks in an iteration, each of which added one.
    pub fn verify(&self, iteration: u64, tasks: u32) -> anyhow::Result<()> {
        let mut tokens = self.all.iter().enumerate();
        tokens.try_for_each(|(k, &token)| {
            check_number(k, token, iteration as usize + k + tasks as usize, tasks)
        })
    }
}

/// Tokens that the first task sends on after the one that it received. The driver fills the list before each
/// iteration.
#[derive(Clone, Debug, Default)]
pub struct Backlog(Arc<Mutex<Vec<usize>>>);

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Source of a task's tokens: its link, a backlog that follows each token from the link, and a fault if a test asks
/// for one.
#[derive(Debug)]
pub struct TokenSource {
    backlog: Option<Backlog>,
    /// Tokens of the backlog that are left in this iteration, the next one last.
    rest: Vec<usize>,
    fault: Option<Misbehaviour>,
}

/// Place of a task's next token.
#[derive(Debug)]
pub enum Next {
    /// This token, from the backlog.
    Token(usize),
    /// The link: a token from it goes through [`TokenSource::arrived`].
    Link,
    /// None: the task ends, as a fault asks.
    End,
    /// None: the task waits for ever, as a fault asks.
    Never,
}

impl TokenSource {
    /// A source without tokens.
    pub fn new(backlog: Option<Backlog>, fault: Option<Fault>) -> Self {
        TokenSource { backlog, rest: Vec::new(), fault: fault.map(Misbehaviour::new) }
    }

    /// Place of the next token; an error if that is the fault.
    #[inline]
    pub fn next_place(&mut self) -> io::Result<Next> {
        if let Some(fault) = &mut self.fault {
            if fault.hangs() {
                return Ok(Next::Never);
            }
            fault.before_read()?;
            if fault.closes() {
                return Ok(Next::End);
            }
        }
        Ok(match self.rest.pop() {
            Some(token) => Next::Token(self.disturb(token)),
            None => Next::Link,
        })
    }

    /// Takes a token that came through the link; the tokens of the backlog follow it.
    #[inline]
    pub fn arrived(&mut self, token: usize) -> usize {
        if let Some(backlog) = &self.backlog {
            std::mem::swap(&mut self.rest, &mut backlog.lock());
        }
        self.disturb(token)
    }

    #[inline]
    fn disturb(&mut self, token: usize) -> usize {
        let Some(fault) = &mut self.fault else { return token };
        let mut bytes = token.to_le_bytes();
        fault.after_read(&mut bytes);
        usize::from_le_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        flags: MemoryFlags,
    }

    #[test]
    fn the_start_of_a_stream_is_one_hop_and_needs_no_room() {
        let [driver, first] = ["driver", "first-task"].map(|feed| {
            Cli::parse_from(["p", "--tasks", "3", "--tokens", "10", "--feed", feed]).flags
        });
        assert_eq!((driver.hops(), first.hops()), (40, 31));
        assert!(driver.check_room(10, "").is_ok() && first.check_room(9, "").is_ok());
        let error = driver.check_room(9, "raise --tasks").unwrap_err().to_string();
        assert!(error.contains("--tokens 10") && error.contains("at most 9"), "{error}");
    }
}
