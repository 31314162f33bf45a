//! Flags of every brigade.

use std::os::fd::OwnedFd;

use contract::message::{Claim, Description, Need, Needs};
use contract::{BadUsage, Flags};

use crate::Transport;

/// Size and tokens of a brigade.
#[derive(Clone, Debug, clap::Args)]
pub struct ChainFlags {
    #[command(flatten)]
    #[expect(missing_docs, reason = "flags with docs of their own")]
    pub flags: Flags,

    /// Number of tokens that travel at the same time
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens: u32,
}

impl ChainFlags {
    /// Number of tasks.
    pub fn tasks(&self) -> u32 {
        self.flags.tasks
    }

    /// Describes a chain: K tokens make N + 1 hops each. `needs` is what its links and tasks take.
    pub fn describe(&self, program: &str, claim: Claim, needs: Needs) -> Description {
        let tokens = u64::from(self.tokens);
        // A place in a list of tokens, and twice that while the list grows.
        let listed = Needs { bytes: Need::new(tokens * 48 + (4 << 20), 0), ..Needs::default() };
        Description {
            hops: Some((u64::from(self.tasks()) + 1) * tokens),
            tokens,
            bytes: Some(tokens),
            needs: needs + listed,
            ..Description::new(program, &self.flags, claim)
        }
    }

    /// Checks that there is room for all tokens: the driver sends all of them before it takes the first one back.
    pub fn ensure_room(&self, most: u64) -> anyhow::Result<()> {
        if u64::from(self.tokens) <= most {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--tokens {} is more than the links can hold (at most {most}): lower it",
            self.tokens
        )))
    }
}

/// Size, tokens and links of a brigade whose links are descriptors.
#[derive(Clone, Debug, clap::Args)]
pub struct LinkFlags {
    #[command(flatten)]
    #[expect(missing_docs, reason = "flags with docs of their own")]
    pub chain: ChainFlags,

    /// Kind of link between tasks
    #[arg(long, value_enum, default_value_t = Transport::Pipe)]
    pub transport: Transport,
}

impl LinkFlags {
    /// Number of tasks.
    pub fn tasks(&self) -> u32 {
        self.chain.tasks()
    }

    /// A link of the chain: the end to read from and the end to write to.
    pub fn link<E: From<OwnedFd>>(&self) -> anyhow::Result<(E, E)> {
        self.transport.link(self.tasks())
    }

    /// Describes a chain with its links; `needs` is what its tasks take.
    pub fn describe(
        &self,
        program: &str,
        claim: Claim,
        needs: Needs,
    ) -> anyhow::Result<Description> {
        let links = self.transport.needs(&self.chain, claim)?;
        Ok(self.chain.describe(program, claim, links + needs))
    }
}
