//! `switchcost run`: runs a plan and prints its tables.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;
use harness::BadUsage;
use jiff::Timestamp;

use super::report::{self, Format};
use crate::analysis;
use crate::plan::Plan;
use crate::programs::Programs;
use crate::rounds;
use crate::store::Store;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgs,

    /// Append the records to this file [default: switchcost-DATE.jsonl in this folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Shuffle each round's cases by this number [default: drawn from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How to print the tables
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Which plan, and how much of it.
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// Read the plan from this TOML file
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// A short run: five rounds of a quarter of the iterations; wider intervals
    #[arg(long)]
    pub(crate) quick: bool,

    /// How many rounds, instead of the plan's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
}

impl PlanArgs {
    pub(crate) fn load(&self) -> anyhow::Result<Plan> {
        let mut plan = match &self.plan {
            None => Plan::built_in()?,
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|e| {
                    BadUsage::new(format!("--plan: cannot read {}: {e}", path.display()))
                })?;
                Plan::parse(&text)
                    .map_err(|e| BadUsage::new(format!("--plan: {}: {e:#}", path.display())))?
            }
        };
        if self.quick {
            plan = plan.quickened();
        }
        if let Some(rounds) = self.rounds {
            plan.rounds = rounds;
        }
        Ok(plan)
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let plan = args.plan.load()?;
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let cases = plan.cases(args.plan.quick, seed);
    let path = args.out.clone().unwrap_or_else(default_path);
    // The file first: nothing may be measured that cannot be kept.
    let mut store = Store::append_to(&path)?;
    let programs = Programs::up_to_date(cases.iter().map(|case| case.program.as_str()))?;
    let records = rounds::run(&cases, &programs, &mut store, seed)?;
    if records.is_empty() {
        bail!("nothing was measured");
    }
    report::print(&analysis::analyse(&records), &records, args.format)?;
    eprintln!("records: {}", store.path().display());
    if records.iter().all(|record| record.samples.is_none()) {
        bail!("every case failed; the records say why");
    }
    Ok(())
}

fn drawn_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // Short enough to be typed again.
    now.map_or(1, |t| t.as_nanos() as u64 / 1000 % 1_000_000)
}

fn default_path() -> PathBuf {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    format!("switchcost-{now}.jsonl").into()
}
