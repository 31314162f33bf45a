//! `switchcost list`: what a plan would run.

use std::io::Write;

use crate::console;
use crate::console::plain_line;

use super::run::PlanArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    print(&args.plan)
}

/// Prints one line for each case.
pub(crate) fn print(plan: &PlanArgs) -> anyhow::Result<()> {
    let (_, cases) = plan.cases(0)?;
    console::print(|out| {
        for case in &cases {
            let line = format!(
                "{}{}: {} x {} {}",
                case.position.name(),
                if case.position.twin { " (A/A)" } else { "" },
                case.rounds,
                case.program,
                case.flags.join(" ")
            );
            writeln!(out, "{}", plain_line(&line))?;
        }
        Ok(())
    })?;
    Ok(())
}
