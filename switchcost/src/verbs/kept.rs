//! Flags of the verbs that measure a plan.

use std::path::PathBuf;
use std::time::Duration;

use super::output::Format;
use crate::measure::turns::Options;
use crate::plan::values::time_limit;

/// How records are made and kept.
#[derive(Debug, clap::Args)]
pub(super) struct Kept {
    /// Append the records to this file [default: switchcost-DATE.jsonl in this folder]
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(super) out: Option<PathBuf>,

    /// Seed that shuffles the order of each round [default: drawn from the clock]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Advanced")]
    pub(super) seed: Option<u64>,

    /// Time for the whole run, without builds: nothing starts after that, and values that were not reached are listed
    /// [default: no limit]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time_limit)]
    pub(super) budget: Option<Duration>,

    #[command(flatten)]
    pub(super) options: Options,

    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Results")]
    pub(super) format: Format,
}
