//! What verbs share that measure a plan of their own.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use humantime::format_duration;

use super::args::Measure;
use super::output::{self, Format};
use crate::measure::campaign::Campaign;
use crate::measure::deadline::Time;
use crate::measure::probe;
use crate::measure::rounds::Keep;
use crate::measure::store::{Contents, Store};
use crate::plan::feasibility::Feasibility;
use crate::plan::programs::Programs;
use crate::plan::setting::Setting;
use crate::plan::sweep;
use crate::plan::values::time_limit;
use crate::plan::{Plan, Row, Section, built_in_tables};
use crate::system::console::{self, BadUsage};

/// What becomes of the records of a verb that makes its own plan. (`run` has these flags too, but
/// there they exclude `--resume`.)
#[derive(Debug, clap::Args)]
pub(super) struct Kept {
    /// Append the records to this file [default: switchcost-DATE.jsonl in this folder]
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(super) out: Option<PathBuf>,

    /// Shuffle each round by this number [default: drawn from the clock]
    #[arg(long, value_name = "N", help_heading = "Advanced")]
    pub(super) seed: Option<u64>,

    /// Time after which no process is started; values that have none by then are named [default: 10m for sweep,
    /// no limit for scale and memory]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time_limit)]
    pub(super) budget: Option<Duration>,

    #[command(flatten)]
    pub(super) measure: Measure,

    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Results")]
    pub(super) format: Format,
}

impl Kept {
    /// Measures what the limits allow of a sweep, whose programs all have these flags, and names the rest.
    pub(super) fn sweep(
        &self,
        sweep: Section,
        flags: &[String],
        limit: Option<Duration>,
    ) -> anyhow::Result<()> {
        let sweep = sweep::checked(sweep).map_err(|e| BadUsage::new(format!("{e:#}")))?;
        // The file first: nothing may be built or measured that cannot be kept.
        let store = Store::open(self.out.as_deref(), "switchcost")?;
        let tables = built_in_tables()?;
        let names = sweep.rows.iter().map(Row::program);
        let programs = Programs::up_to_date(names, &tables)?;
        let over = sweep.over.clone().unwrap_or_default();
        let plan = sweep::plan(&sweep, flags, tables, |it| {
            let program = programs.executable(it.program.as_ref()?).ok()?;
            let value = format!("{}{}", over.values.first()?, over.unit);
            let flags = [&it.flags[..], &[over.flag.clone(), value]].concat();
            probe::ask(program, &flags, &Setting::default()).ok()?.description().cloned()
        });
        let campaign = Campaign::of(programs, plan.cases())?;
        if campaign.cases.is_empty() {
            let is_limited = |cut: &Feasibility| matches!(cut, Feasibility::TooMuch { .. });
            ensure!(
                !campaign.cuts.iter().any(is_limited),
                "the limits of this system allow no point of this sweep"
            );
            return Err(BadUsage::new("none of the programs takes these flags"));
        }
        let end = limit.map(format_duration);
        let end = end.map(|limit| format!("; none is started after {limit} (--budget)"));
        console::say(format_args!("{}{}", campaign.describe(), end.unwrap_or_default()));
        self.measure(&plan, campaign, store, limit)
    }

    /// Measures the cases of a plan that a verb has made, and prints all that was found. `limit` is the time after which
    /// no process is started.
    pub(super) fn measure(
        &self,
        plan: &Plan,
        campaign: Campaign,
        store: Store,
        limit: Option<Duration>,
    ) -> anyhow::Result<()> {
        self.measure.ensure_can_keep(&campaign.cases)?;
        let keep = Keep {
            store,
            seed: self.seed,
            options: self.measure.options(),
            earlier: Contents::default(),
        };
        let mut rounds = campaign.run(keep, plan, limit.map_or(Time::Unlimited, Time::Limit))?;
        let path = rounds.store().path();
        let printed = output::print(rounds.records(), &[path], self.format, true);
        printed.and(rounds.conclude())
    }
}
