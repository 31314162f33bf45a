//! `switchcost memory`: the memory per task, and how many tasks the machine could hold.

use super::kept::Kept;
use crate::measure::campaign::Campaign;
use crate::measure::deadline::Time;
use crate::plan::Plan;
use crate::plan::programs::Programs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of processes per number of tasks
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    keep: Kept,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let mut plan = Plan::memory()?;
    plan.sections.iter_mut().for_each(|section| section.rounds = Some(args.rounds));
    let rows = plan.rows();
    let opened = args.keep.open("switchcost")?;
    let names = rows.iter().map(|row| row.command.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    let time = args.keep.budget.map_or(Time::Unlimited, Time::Limit);
    args.keep.measure(&plan, Campaign::of(programs, rows)?, opened, time, true)
}
