//! Several chains at once: their number, and what they need.

use contract::message::{Description, Need, Needs};

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
