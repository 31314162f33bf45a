//! Flags and steps of the verbs that measure a plan.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use humantime::format_duration;
use record::Setting;

use super::args::Measure;
use super::output::{self, Format};
use crate::measure::campaign::Campaign;
use crate::measure::deadline::Time;
use crate::measure::probe;
use crate::measure::rounds::Keep;
use crate::measure::store::Store;
use crate::plan::feasibility::Feasibility;
use crate::plan::programs::Programs;
use crate::plan::sweep;
use crate::plan::values::time_limit;
use crate::plan::{Plan, RowTable, Section, built_in_tables};
use crate::system::console::{self, BadUsage};

/// How records are made and kept.
#[derive(Debug, clap::Args)]
pub(super) struct Kept {
    /// Append the records to this file [default: switchcost-DATE.jsonl in this folder]
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    out: Option<PathBuf>,

    /// Seed that shuffles the order of each round [default: drawn from the clock]
    #[arg(long, value_name = "N", help_heading = "Advanced")]
    pub(super) seed: Option<u64>,

    /// Time for the whole run, without builds: nothing starts after that, and values that were not reached are listed
    /// [default: no limit]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time_limit)]
    pub(super) budget: Option<Duration>,

    #[command(flatten)]
    pub(super) measure: Measure,

    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Results")]
    pub(super) format: Format,
}

impl Kept {
    /// Opens the file, with this name if it is new. That comes first: nothing should be built or measured that cannot be
    /// kept.
    pub(super) fn open(&self, name: &str) -> anyhow::Result<Store> {
        Store::open(self.out.as_deref(), name)
    }

    /// Measures as much of a sweep as the limits allow, and names the rest. All programs get these flags.
    pub(super) fn sweep(
        &self,
        sweep: Section,
        flags: &[String],
        limit: Option<Duration>,
    ) -> anyhow::Result<()> {
        let sweep = sweep::checked(sweep).map_err(|e| BadUsage::new(format!("{e:#}")))?;
        let store = self.open("switchcost")?;
        let tables = built_in_tables()?;
        let names = sweep.rows.iter().map(RowTable::program);
        let programs = Programs::up_to_date(names, &tables)?;
        let over = sweep.over.clone().unwrap_or_default();
        let plan = sweep::plan(&sweep, flags, tables, |it| {
            let program = programs.named(it.program.as_ref()?).ok()?;
            let value = format!("{}{}", over.values.first()?, over.unit);
            let flags = [&it.flags[..], &[over.flag.clone(), value]].concat();
            probe::ask(program, &flags, &Setting::default()).ok()?.description().cloned()
        });
        let campaign = Campaign::of(programs, plan.rows())?;
        if campaign.measured().next().is_none() {
            let is_limited = |cut: &Feasibility| matches!(cut, Feasibility::TooMuch { .. });
            ensure!(
                !campaign.cuts.iter().any(is_limited),
                "the limits of this system allow no point of this sweep: lower its range, or see `switchcost limits`"
            );
            return Err(BadUsage::new("none of the programs has these flags: see their --help"));
        }
        let end = limit.map(format_duration);
        let end = end.map(|limit| format!("; nothing starts after {limit} (--budget)"));
        console::say(format_args!("{}{}", campaign.describe(), end.unwrap_or_default()));
        let time = limit.map_or(Time::Unlimited, Time::Limit);
        self.measure(&plan, campaign, store, time, true)
    }

    /// Measures the rows of a plan, and prints the answer, or all that was found.
    pub(super) fn measure(
        &self,
        plan: &Plan,
        campaign: Campaign,
        store: Store,
        time: Time,
        full: bool,
    ) -> anyhow::Result<()> {
        let keep = Keep { store, seed: self.seed, options: self.measure.options() };
        let mut rounds = campaign.run(keep, plan, time)?;
        let path = rounds.store().path();
        let printed = output::print_beside(rounds.records(), path, self.format, full);
        // Where the records are is said even if nothing could be printed.
        printed.and(rounds.conclude())
    }
}
