//! Flags of every brigade.

use contract::message::{Claim, Description, Need, Needs};
use contract::{BadUsage, Flags};

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
        // 4 MiB for the process, and the list of tokens.
        let listed = Needs { bytes: Need::new(tokens * 8 + (4 << 20), 0), ..Needs::default() };
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
