//! Flags of a brigade of async tasks in memory.

use chain::{ChainsFlags, MemoryFlags};
use clap::ValueEnum;
use contract::BadUsage;
use contract::message::{Claim, Description};

/// Flags of a brigade, whatever executor runs its tasks.
#[derive(Clone, Debug, clap::Args)]
pub struct BrigadeFlags {
    /// Size and tokens.
    #[command(flatten)]
    pub chain: MemoryFlags,

    /// Number of tokens that a link can hold, with --transport mpsc or async-channel [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    pub capacity: Option<u32>,
}

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// tokio::sync::mpsc::channel
    Mpsc,
    /// tokio::sync::mpsc::unbounded_channel
    Unbounded,
    /// async_channel::bounded, the channel of smol
    AsyncChannel,
    /// tokio::sync::oneshot, a new channel per hop: a token carries the receiver of the next channel
    Oneshot,
    /// an atomic that holds one token, and a tokio::sync::Notify to wait on
    Notify,
    /// a std::sync::Mutex that guards one token and a waker
    Mutex,
    /// like mutex, but without a lock: for --executor minimal
    Slot,
}

/// Most bytes that a task and its link take: a Tokio channel has blocks of 32 places, and two such blocks after 32
/// tokens.
const TASK_BYTES: u64 = 2048;

impl BrigadeFlags {
    /// Number of tokens that a link can hold, if its kind leaves a choice.
    pub fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }

    /// Description of the brigade, without its runtime; a [`BadUsage`] error if flags do not go together.
    pub fn describe(
        &self,
        program: &str,
        transport: Transport,
        chains: ChainsFlags,
    ) -> anyhow::Result<Description> {
        self.check_room(transport)?;
        let link = match transport {
            // All places are made with the channel: a token and a turn each.
            Transport::AsyncChannel => TASK_BYTES + u64::from(self.capacity()) * 24,
            _ => TASK_BYTES,
        };
        let needs = self.chain.needs(link);
        self.chain.describe(program, chains, Claim::UserSwitch, needs)
    }

    /// A driver that sends all tokens first would wait for ever if the links had no room for them.
    fn check_room(&self, transport: Transport) -> anyhow::Result<()> {
        let is_bounded = matches!(transport, Transport::Mpsc | Transport::AsyncChannel);
        if self.capacity.is_some() && !is_bounded {
            return Err(BadUsage::new(
                "--capacity: links of this transport have a fixed capacity: drop it, or use --transport mpsc or async-channel",
            ));
        }
        if matches!(transport, Transport::Unbounded | Transport::Oneshot) {
            return Ok(());
        }
        let remedy = if is_bounded { "raise --capacity or --tasks" } else { "raise --tasks" };
        let most = (u64::from(self.chain.tasks()) + 1) * u64::from(self.capacity());
        self.chain.check_room(most, remedy)
    }
}
