//! Flags of every brigade.

use contract::Flags;

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
}
