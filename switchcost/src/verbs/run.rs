//! `switchcost run`: runs a plan, and prints its answer or its tables.

use std::io::Write;

use anyhow::Context;

use super::args::Selection;
use super::kept::Kept;
use crate::measure::campaign::Campaign;
use crate::measure::deadline::Time;
use crate::plan::programs::{self, Programs};
use crate::plan::{Case, Plan};
use crate::system::console;

#[derive(Debug, clap::Args)]
#[command(mut_arg("budget", |it| it.help(
    "Time for the whole run, without builds: rounds go on until it is used up [default: the plan's]"
)))]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Run for 15 s only, or five rounds with a quarter of the iterations; intervals are wider
    #[arg(long, help_heading = "Plan")]
    quick: bool,

    /// Number of rounds, instead of the plan's rounds or budget
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "budget", help_heading = "Plan")]
    rounds: Option<u32>,

    /// Print the cases and their commands, but run nothing
    #[arg(long, help_heading = "Plan")]
    list: bool,

    /// Print all tables, not only the answer
    #[arg(long, help_heading = "Results")]
    full: bool,

    #[command(flatten)]
    keep: Kept,
}

impl Args {
    /// The plan and its cases.
    fn cases(&self) -> anyhow::Result<(Plan, Vec<Case>)> {
        let mut plan = self.selection.plan()?;
        if self.quick {
            plan = plan.quickened();
        }
        if let Some(budget) = self.keep.budget {
            plan = plan.within(budget);
        }
        if let Some(rounds) = self.rounds {
            plan = plan.with_rounds(rounds);
        }
        let mut cases = plan.cases();
        self.selection.retain(&mut cases, true)?;
        programs::ensure_known(cases.iter().map(|case| &*case.program), &plan.programs)?;
        Ok((plan, cases))
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let (plan, cases) = args.cases()?;
    if args.list {
        return list(&cases);
    }
    let opened = args.keep.open("switchcost")?;
    // Until here nothing is lost, and the first signal ends what may wait for ever: a FIFO.
    let names = cases.iter().map(|case| case.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    let campaign = Campaign::of(programs, cases)?;
    args.keep.measure(&plan, campaign, opened, Time::of(&plan), args.full)
}

/// Prints one line for each case.
fn list(cases: &[Case]) -> anyhow::Result<()> {
    console::print(|out| {
        for case in cases {
            let twin = if case.twin { " (A/A)" } else { "" };
            let name = case.cell.name();
            let times = match case.rounds {
                u32::MAX => String::new(),
                rounds => format!("{rounds} x "),
            };
            let line = format!("{name}{twin}: {times}{}", case.command());
            writeln!(out, "{line}")?;
        }
        Ok(())
    })
    .context("cannot print the cases")
}
