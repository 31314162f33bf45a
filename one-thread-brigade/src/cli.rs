//! The command line.

use chain::{ChainFlags, ChainsFlags, ReadBuffer};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{BadUsage, Flags, Program};

/// Do all the reads and writes of a brigade in one thread, and time it: the baseline
#[derive(Parser)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten)]
    pub(crate) chain: ChainFlags,
    /// Non-blocking links, with an epoll_wait before each read: the baseline of async-brigade
    #[arg(long)]
    pub(crate) nonblocking: bool,
    #[command(flatten)]
    pub(crate) read_buffer: ReadBuffer,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        if self.read_buffer.read_buffer.is_some() && !self.nonblocking {
            return Err(BadUsage::new(
                "--read-buffer: a blocking read takes one token: drop it, or use --nonblocking",
            ));
        }
        let (chain, claim) = (&self.chain, Claim::NoSwitch);
        let needs = chain.needs(self.read_buffer.size(chain)?);
        chain.describe("one-thread-brigade", &self.flags, ChainsFlags::default(), claim, needs)
    }
}
