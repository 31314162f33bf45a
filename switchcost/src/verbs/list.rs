//! `switchcost list`: what a plan would run.

use std::io::Write;

use harness::console;

use super::run::PlanArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let plan = args.plan.load()?;
    let cases = plan.cases(args.plan.quick, 0);
    console::print(|out| {
        for case in &cases {
            writeln!(
                out,
                "{}: {} x {} {}",
                case.position.name(),
                case.rounds,
                case.program,
                case.flags.join(" ")
            )?;
        }
        Ok(())
    })?;
    Ok(())
}
