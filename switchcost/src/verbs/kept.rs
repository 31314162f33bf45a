//! What verbs share that measure a plan of their own.

use std::path::PathBuf;
use std::time::Duration;

use humantime::format_duration;

use super::args::Measure;
use super::output::{self, Format};
use crate::measure::campaign::{Campaign, Keep};
use crate::measure::deadline::Time;
use crate::measure::probe;
use crate::measure::store::{Contents, Store};
use crate::plan::feasibility::Feasibility;
use crate::plan::programs::Programs;
use crate::plan::setting::Setting;
use crate::plan::sweep::Sweep;
use crate::plan::values::time_limit;
use crate::plan::{Plan, built_in_tables};
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
    /// Measures what the limits allow of a sweep, and names the rest.
    pub(super) fn sweep(&self, sweep: &Sweep, limit: Option<Duration>) -> anyhow::Result<()> {
        // The file first: nothing may be built or measured that cannot be kept.
        let store = Store::open(self.out.as_deref(), "switchcost")?;
        let names = sweep.programs.iter().map(|line| line.program.as_str());
        let tables = built_in_tables()?;
        let programs = Programs::up_to_date(names, &tables)?;
        let plan = sweep.plan(tables, |program, flags| {
            let program = programs.executable(program).ok()?;
            probe::ask(program, flags, &Setting::default()).ok()?.description().cloned()
        });
        let campaign = Campaign::of(programs, plan.cases())?;
        if campaign.cases.is_empty() {
            return Err(nothing_left(&campaign.cuts, &sweep.over.flag));
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

/// Why a sweep has no point at all: flags that no program takes are bad usage, limits are not.
fn nothing_left(cuts: &[Feasibility], over: &str) -> anyhow::Error {
    let lacks = |cut: &Feasibility| matches!(cut, Feasibility::NoFlag(flag) if flag == over);
    if cuts.iter().all(lacks) {
        return BadUsage::new(format!("none of the programs has a flag {over}"));
    }
    if cuts.iter().any(|cut| matches!(cut, Feasibility::TooMuch { .. })) {
        anyhow::anyhow!("the limits of this system allow no point of this sweep")
    } else {
        BadUsage::new("none of the programs takes these flags")
    }
}
