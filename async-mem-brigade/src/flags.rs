//! Flags of a brigade of async tasks in memory.

use chain::{ChainsFlags, MemoryFlags};
use contract::message::{Claim, Description};

/// Size of a brigade, its tokens and links.
#[derive(Clone, Debug, clap::Args)]
pub struct BrigadeFlags {
    /// Size and tokens.
    #[command(flatten)]
    pub chain: MemoryFlags,

    /// Number of tokens that a link can hold [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    pub capacity: Option<u32>,
}

/// Most bytes that a task and its link take: a Tokio channel has blocks of 32 places, and two such blocks after 32
/// tokens.
const TASK_BYTES: u64 = 2048;

impl BrigadeFlags {
    /// Number of tokens that a link can hold.
    pub fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }

    /// Description of the brigade, without its runtime; a [`BadUsage`](contract::BadUsage) error if flags do not go
    /// together. `remedy` is what makes room for more tokens.
    pub fn describe(&self, chains: ChainsFlags, remedy: &str) -> anyhow::Result<Description> {
        // A driver that sends all tokens first would wait for ever if the links had no room for them.
        let most = (u64::from(self.chain.tasks()) + 1) * u64::from(self.capacity());
        self.chain.check_room(most, remedy)?;
        let needs = self.chain.needs(TASK_BYTES);
        self.chain.describe("async-mem-brigade", chains, Claim::UserSwitch, needs)
    }
}
