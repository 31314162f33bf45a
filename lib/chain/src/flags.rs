//! Flags of a brigade over descriptors, and of several chains at once.

use contract::message::{Claim, Description, Need, Needs};
use contract::{BadUsage, Flags};

use crate::{FaultFlags, Transport};

/// Descriptors besides the links': the standard three, an epoll, a timer, and a few of a runtime.
const DESCRIPTORS_TO_SPARE: u64 = 16;

/// Size, links and tokens of a brigade.
#[derive(Clone, Debug, clap::Args)]
pub struct ChainFlags {
    #[command(flatten)]
    #[expect(missing_docs, reason = "flags with docs of their own")]
    pub flags: Flags,

    /// Kind of the links
    #[arg(long, value_enum, default_value_t = Transport::Pipe)]
    pub transport: Transport,

    /// Tokens in flight at once
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens: u32,

    /// Visit the tasks in another order than that of their creation
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, help_heading = "Advanced")]
    pub shuffle: Option<u64>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "hidden flags for tests")]
    pub fault: FaultFlags,
}

/// How much a non-blocking read asks for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ReadBuffer {
    /// Bytes that a read asks for: after a short read nothing is left, after a full one a second read finds out
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

    /// Description of a brigade. The driver sends all tokens before it takes the first one back, so it is an
    /// error if the links do not hold them.
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

    /// Checks that the links hold the tokens. A program that claims no switch writes all of them before
    /// it reads one; in others full links pass on only what the next one has room for.
    fn check_room(&self, claim: Claim) -> anyhow::Result<()> {
        let tokens = self.tokens;
        if tokens == 1 {
            return Ok(());
        }
        let link = self.transport.capacity()?;
        let (most, holds) = if claim == Claim::NoSwitch {
            (link, "a link holds")
        } else {
            (link.max(self.tasks()), "a link holds, and than there are tasks")
        };
        if tokens <= most {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--tokens {tokens} is more than {holds} (at most {most}): lower it"
        )))
    }
}

/// Number of chains, and of their round trips in an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct ChainsFlags {
    /// Chains of --tasks each, with nothing in common, that work at the same time; each has a driver. An
    /// iteration ends when the last is back
    #[arg(long, value_name = "C", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub chains: u32,

    /// Round trips that each chain makes in an iteration: with few tasks, enough that the start of the chains is
    /// little beside them
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
    /// True if there is one chain, and one round trip an iteration.
    pub fn is_one(self) -> bool {
        self == ChainsFlags::default()
    }

    /// Description of all chains; `one` is that of one of them, with one round trip.
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
