//! The command line.

use chain::{ChainsFlags, MemoryFlags};
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description};
use contract::{BadUsage, Flags, Program};
use threads::futex::FutexFlags;
use threads::{Placement, StackFlags};

/// Pass a number through a chain of OS threads joined in memory, and time it
#[derive(Parser)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) chain: MemoryFlags,
    /// Kind of the links; a link holds one token, unless --capacity says otherwise
    #[arg(long, value_enum, default_value_t = Transport::Futex)]
    pub(crate) transport: Transport,
    #[command(flatten)]
    pub(crate) chains: ChainsFlags,
    /// Tokens that a link holds, with --transport mpsc; with 0 a sender waits until its token is taken
    /// [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=1 << 28))]
    capacity: Option<u32>,
    /// Layout of the threads over the CPUs: free, as the kernel decides; half, the first half on one CPU; spread,
    /// neighbours on different CPUs; chain, all of a chain on one CPU; or a list, neighbours on its neighbours
    #[arg(long, value_name = "free|half|spread|chain|LIST", default_value = "free")]
    pub(crate) placement: Placement,
    #[command(flatten)]
    pub(crate) stack: StackFlags,
    #[command(flatten)]
    pub(crate) futex: FutexFlags,
}

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// a word in memory on which threads sleep by futex(2), without spinning first
    Futex,
    /// std::sync::mpsc::sync_channel, which spins and yields before it sleeps
    Mpsc,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let is_channel = self.transport == Transport::Mpsc;
        if self.capacity.is_some() && !is_channel {
            return Err(BadUsage::new(
                "--capacity: a link of this transport holds one token: drop it, or use --transport mpsc",
            ));
        }
        // Links of capacity 0 hold nothing, but each task holds the token that it hands on.
        let (tasks, capacity) = (u64::from(self.chain.tasks()), u64::from(self.capacity()));
        let remedy = if is_channel { "raise --capacity or --tasks" } else { "raise --tasks" };
        self.chain.check_room(((tasks + 1) * capacity).max(tasks), remedy)?;

        // A place in a channel takes a token and a number.
        let needs = self.chain.needs(1024 + capacity * 24) + self.stack.needs();
        self.chain.describe("thread-mem-brigade", self.chains, Claim::KernelSwitch, needs)
    }
}

impl Cli {
    /// Tokens that a link holds.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }
}
