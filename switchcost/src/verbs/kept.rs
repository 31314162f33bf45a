//! Flags and steps of the verbs that measure a plan.

use std::path::PathBuf;
use std::time::Duration;

use super::output::{self, Format};
use crate::measure::campaign;
use crate::measure::store::Store;
use crate::measure::turns::Options;
use crate::plan::Plan;
use crate::plan::lineup::Lineup;
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

impl Kept {
    /// Measures the rows of a plan, and prints the answer, or all that was found.
    pub(super) fn measure(
        &self,
        plan: &Plan,
        lineup: Lineup,
        store: Store,
        limit: Option<Duration>,
        full: bool,
    ) -> anyhow::Result<()> {
        let options = self.options.clone();
        let mut rounds = campaign::run(lineup, plan, self.seed, store, options, limit)?;
        let path = &rounds.store.path;
        let printed = output::print_new(&rounds.records, path, self.format, full);
        // Where the records are is said even if nothing could be printed.
        printed.and(rounds.conclude())
    }
}
