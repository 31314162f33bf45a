//! Flags of a brigade over descriptors, and of several chains at once.

use contract::message::{Claim, Description, Need, Needs};
use contract::{BadUsage, Flags};

use crate::{FaultFlags, Transport};

/// Descriptors that are not part of a link: the standard three, an epoll, a timer, and a few for a runtime.
const DESCRIPTORS_TO_SPARE: u64 = 16;

/// Size, links and tokens of a brigade.
#[derive(Clone, Debug, clap::Args)]
pub struct ChainFlags {
    #[command(flatten)]
    #[expect(missing_docs, reason = "flags with docs of their own")]
    pub flags: Flags,

    /// Kind of link between tasks
    #[arg(long, value_enum, default_value_t = Transport::Pipe)]
    pub transport: Transport,

    /// Number of tokens that travel at the same time
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens: u32,

    #[command(flatten)]
    #[expect(missing_docs, reason = "hidden flags for tests")]
    pub fault: FaultFlags,
}

/// Size of a non-blocking read.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ReadBuffer {
    /// Bytes that each read asks for; a read that returns all of them is followed by another, which finds the link empty
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 16), help_heading = "Advanced")]
    pub read_buffer: u32,
}

impl ReadBuffer {
    /// Bytes of a read.
    pub fn size(self) -> usize {
        self.read_buffer as usize
    }
}

impl ChainFlags {
    /// Tasks of a chain.
    pub fn tasks(&self) -> u32 {
        self.flags.tasks
    }

    /// Description of a brigade. The driver sends all tokens before it takes the first one back, so the links must
    /// hold them.
    pub fn describe(
        &self,
        program: &str,
        chains: ChainsFlags,
        claim: Claim,
        needs: Needs,
    ) -> anyhow::Result<Description> {
        self.fault.check(self.tasks(), chains.chains)?;
        self.check_room(claim)?;
        Ok(chains.describe(Description {
            hops: Some((u64::from(self.tasks()) + 1) * u64::from(self.tokens)),
            tokens: self.tokens.into(),
            bytes: Some(self.tokens.into()),
            needs,
            ..Description::new(program, &self.flags, claim)
        }))
    }

    /// Needs of the links and the tokens, if each read asks for so many bytes.
    pub fn needs(&self, read_size: usize) -> Needs {
        let link = self.transport.kernel_bytes() + read_size as u64;
        Needs {
            descriptors: Need::new(2 + DESCRIPTORS_TO_SPARE, 2),
            maps: Need::new(64, 0),
            bytes: Need::new(u64::from(self.tokens) + (4 << 20), link),
            ..Needs::default()
        }
    }

    /// Checks that the links can hold the tokens. A program that claims no switch writes all tokens before it reads
    /// one; in other programs a task also holds a token while the next link is full.
    fn check_room(&self, claim: Claim) -> anyhow::Result<()> {
        let tokens = self.tokens;
        if tokens == 1 {
            return Ok(());
        }
        let link = self.transport.capacity()?;
        let (most, holds) = if claim == Claim::NoSwitch {
            (link, "a link can hold")
        } else {
            (link.max(self.tasks()), "a link can hold or there are tasks")
        };
        if tokens <= most {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--tokens {tokens} is more than {holds} (at most {most}): lower it"
        )))
    }
}

/// Number of chains and of round trips per iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct ChainsFlags {
    /// Number of independent chains that run at the same time, each with --tasks tasks and its own driver; an
    /// iteration ends when the last chain has finished
    #[arg(long, value_name = "C", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub chains: u32,

    /// Round trips per chain and iteration; if there are few tasks, make many trips, so that starting the chains
    /// hardly counts
    #[arg(long, value_name = "R", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub trips: u32,
}

/// One chain, and one round trip.
impl Default for ChainsFlags {
    fn default() -> Self {
        ChainsFlags { chains: 1, trips: 1 }
    }
}

impl ChainsFlags {
    /// True if there is one chain that makes one round trip per iteration.
    pub fn is_one(self) -> bool {
        self == ChainsFlags::default()
    }

    /// Description of all chains; `one` describes one chain that makes one round trip.
    pub(crate) fn describe(self, one: Description) -> Description {
        let (chains, trips) = (u64::from(self.chains), u64::from(self.trips));
        let all = chains * trips;
        // Tokens of one round trip are among the needs already; a place in a list is 48 bytes at most.
        let tokens = one.tokens.saturating_mul(all - 1).saturating_mul(48);
        let tokens = Needs { bytes: Need::new(tokens, 0), ..Needs::default() };
        Description {
            chains,
            trips,
            hops: one.hops.map(|hops| hops.saturating_mul(all)),
            bytes: one.bytes.map(|bytes| bytes.saturating_mul(all)),
            needs: one.needs.chains(self.chains) + tokens,
            ..one
        }
    }
}
