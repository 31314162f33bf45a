//! The command line.

use chain::{ChainsFlags, MemoryFlags};
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description};
use contract::{BadUsage, Flags, Program};
use threads::futex::FutexFlags;
use threads::{Placement, StackFlags};

/// Time switching between OS threads without I/O: pass a number along a chain of threads joined in memory
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of threads in a chain")))]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) chain: MemoryFlags,
    /// Kind of link between threads; a link holds one token unless --capacity says otherwise
    #[arg(long, value_enum, default_value_t = Transport::Futex)]
    pub(crate) transport: Transport,
    #[command(flatten)]
    pub(crate) chains: ChainsFlags,
    /// Number of tokens that a link can hold, with --transport mpsc; with 0, a sender waits until its token is taken
    /// [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=1 << 28))]
    capacity: Option<u32>,
    /// CPUs of the threads: free, the kernel decides; half, one CPU for the first half of a chain and another for
    /// the rest; spread, neighbours on different CPUs; chain, one CPU per chain; or a list such as 0,4, to use in turn
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
    /// a word in memory on which threads sleep with futex(2), without spinning first
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
                "--capacity: a link of this transport can hold only one token: drop it, or use --transport mpsc",
            ));
        }
        // A link of capacity 0 holds nothing, but each thread holds the token that it hands on.
        let (tasks, capacity) = (u64::from(self.chain.tasks()), u64::from(self.capacity()));
        let remedy = if is_channel { "raise --capacity or --tasks" } else { "raise --tasks" };
        self.chain.check_room(((tasks + 1) * capacity).max(tasks), remedy)?;

        // A place in a channel holds a token and a number.
        let needs = self.chain.needs(1024 + capacity * 24) + self.stack.needs();
        self.chain.describe("thread-mem-brigade", self.chains, Claim::KernelSwitch, needs)
    }
}

impl Cli {
    /// Number of tokens that a link can hold.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }
}
