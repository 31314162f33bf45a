//! `switchcost memory`: what a task holds in memory, and how many of them the machine would hold.

use super::measuring::{Keep, measure_planned};
use crate::measure::store::Store;
use crate::plan::Plan;
use crate::plan::programs::Programs;
use crate::plan::sweep::Planned;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Processes for each number of tasks
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    keep: Keep,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let plan = Plan::memory()?;
    let mut cases = plan.cases(false);
    for case in &mut cases {
        case.rounds = args.rounds;
    }
    let store = Store::open(args.keep.out.as_deref())?;
    let names = cases.iter().map(|case| case.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    let planned = Planned { cases, ..Planned::default() };
    measure_planned(programs, &planned, store, &args.keep, args.keep.budget)
}
