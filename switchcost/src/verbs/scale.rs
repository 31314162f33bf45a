//! `switchcost scale`: more and more tasks, as far as the limits of this system go.

use crate::console::{self, BadUsage};
use anyhow::bail;

use super::report;
use super::run::{Keep, drawn_seed};
use crate::analysis;
use crate::plan::built_in_tables;
use crate::programs::Programs;
use crate::rounds::Rounds;
use crate::scale::plan::{Plan, Planned, check_flags};
use crate::store::Store;
use crate::subject::Subject;

/// Builds larger and larger chains, each in fresh processes, up to what the limits of this system
/// allow: how set-up, the very first iteration and teardown grow, what a task holds in memory at
/// the largest size, and which limit stops each program there
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The smallest number of tasks
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    from: u32,

    /// The largest number of tasks, if the limits allow it
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 2_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    to: u32,

    /// A program to measure, with flags if need be, such as "thread-brigade --stack-size 64KiB";
    /// give it several times for several
    #[arg(long, value_name = "PROGRAM", default_values = [
        "thread-brigade", "async-brigade", "thread-mem-brigade", "async-mem-brigade", "thread-creation",
        "async-creation",
    ])]
    program: Vec<Subject>,

    /// How often each number of tasks is measured, each time in a fresh process
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    keep: Keep,

    /// Flags for every program, such as --transport socketpair
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    args.check()?;
    let plan =
        Plan { from: args.from, to: args.to, rounds: args.rounds, flags: args.flags.clone() };
    let programs =
        Programs::up_to_date(args.program.iter().map(|s| s.program.as_str()), &built_in_tables()?)?;
    let mut planned = Vec::new();
    for (index, subject) in (0..).zip(&args.program) {
        let ask = |flags: &[String]| programs.ask(&subject.program, flags);
        planned.push(plan.cases(subject, index, ask)?);
    }
    for (case, reason) in planned.iter().filter_map(|p| p.beyond.as_ref()) {
        console::say(format_args!("switchcost: {}: {reason}", case.cell.name()));
    }
    let cases: Vec<_> = planned.iter().flat_map(|p| p.cases.clone()).collect();
    if cases.is_empty() {
        bail!("the limits of this system allow no run of {} tasks or more", args.from);
    }
    let store = Store::open(args.keep.out.as_deref())?;
    let seed = args.keep.seed.unwrap_or_else(drawn_seed);
    let options = args.keep.measure.options();
    let beyond = planned.iter().filter_map(|p| Some(&p.beyond.as_ref()?.0));
    let all: Vec<_> = cases.iter().chain(beyond).cloned().collect();
    let mut rounds = Rounds::new(programs, store, seed, options, &all)?;
    rounds.await_turn();
    rounds.run(&cases)?;
    rounds.ensure_any()?;
    for Planned { beyond, .. } in &planned {
        if let Some((case, reason)) = beyond {
            rounds.leave_out(case, reason)?;
        }
    }
    let records = rounds.records();
    report::print(&analysis::analyse(records), records, args.keep.format, true)?;
    rounds.conclude()
}

impl Args {
    fn check(&self) -> anyhow::Result<()> {
        if self.from > self.to {
            return Err(BadUsage::new(format!(
                "--from {} is more than --to {}",
                self.from, self.to
            )));
        }
        for Subject { program, flags } in &self.program {
            for flags in [flags, &self.flags] {
                check_flags(program, flags).map_err(BadUsage::new)?;
            }
        }
        if let Some(twice) = self
            .program
            .iter()
            .enumerate()
            .find_map(|(i, one)| self.program[..i].contains(one).then_some(one))
        {
            return Err(BadUsage::new(format!("--program {twice} is given twice")));
        }
        Ok(())
    }
}
