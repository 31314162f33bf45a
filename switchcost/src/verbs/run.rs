//! `switchcost run`: runs a plan and prints its tables.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use super::args::{Measure, Selection};
use super::output::{self, Format};
use crate::measure::campaign::{Campaign, earlier};
use crate::measure::deadline::Time;
use crate::measure::rounds::{Keep, Rounds};
use crate::measure::store::{Contents, Store};
use crate::plan::programs::{self, Programs};
use crate::plan::{Case, Plan, values};
use crate::system::console::{self, plain_line};
use crate::system::signals;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,

    /// A short run: 15 s, or five rounds of a quarter of the iterations; wider intervals
    #[arg(long, help_heading = "Plan")]
    quick: bool,

    /// Number of rounds, in place of the plan's budget or rounds
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Plan")]
    rounds: Option<u32>,

    /// Run each timed case twice in each round: the difference of equal runs is noise
    #[arg(long, help_heading = "Plan")]
    a_a: bool,

    /// Print the cases with their commands, and run nothing
    #[arg(long, help_heading = "Plan")]
    list: bool,

    /// Append the records to this file [default: switchcost-DATE.jsonl in this folder]
    #[arg(long, value_name = "FILE", conflicts_with = "resume", help_heading = "Results")]
    out: Option<PathBuf>,

    /// Go on where the run that wrote this file was stopped; give the same options again
    #[arg(long, value_name = "FILE", conflicts_with = "seed", help_heading = "Results")]
    resume: Option<PathBuf>,

    /// Shuffle each round's cases by this number [default: drawn from the clock]
    #[arg(long, value_name = "N", help_heading = "Advanced")]
    seed: Option<u64>,

    /// Time for the whole run, builds apart: rounds go on until it is used [default: the plan's, 60s for
    /// the default plan, or 15s with --quick]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = values::time_limit, conflicts_with = "rounds", help_heading = "Plan")]
    budget: Option<Duration>,

    /// Print all tables, not the answer alone
    #[arg(long, help_heading = "Results")]
    full: bool,

    #[command(flatten)]
    measure: Measure,

    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Results")]
    format: Format,
}

impl Args {
    /// The plan and its cases.
    fn cases(&self) -> anyhow::Result<(Plan, Vec<Case>)> {
        let mut plan = self.selection.plan()?;
        if self.quick {
            plan = plan.quickened();
        }
        if let Some(budget) = self.budget {
            plan = plan.within(budget);
        }
        if let Some(rounds) = self.rounds {
            plan = plan.with_rounds(rounds);
        }
        let mut cases = plan.cases();
        self.selection.retain(&mut cases, true)?;
        programs::ensure_known(cases.iter().map(|case| &*case.program), &plan.programs)?;
        if self.a_a {
            let twins: Vec<Case> = cases.iter().filter_map(Case::twin).collect();
            cases.extend(twins);
        }
        Ok((plan, cases))
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    if args.list { list(args) } else { conclude(&mut measure(args)?, args.format, args.full) }
}

/// Runs the plan.
fn measure(args: &Args) -> anyhow::Result<Rounds> {
    let earlier = args.resume.as_deref().map_or(Ok(Contents::default()), earlier)?;
    let (plan, cases) = args.cases()?;
    args.measure.ensure_can_keep(&cases)?;
    // The file first: nothing may be measured that cannot be kept.
    let store = Store::open(args.out.as_deref().or(args.resume.as_deref()), "switchcost")?;
    let keep = Keep { store, seed: args.seed, options: args.measure.options(), earlier };
    // Until here nothing is lost, and the first signal ends what may wait for ever: a FIFO.
    let names = cases.iter().map(|case| case.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    Campaign::of(programs, cases)?.run(keep, &plan, Time::of(&plan))
}

/// Prints one line for each case.
fn list(args: &Args) -> anyhow::Result<()> {
    let (_, cases) = args.cases()?;
    console::print(|out| {
        for case in &cases {
            let twin = if case.twin { " (A/A)" } else { "" };
            let name = case.cell.name();
            let times = match case.rounds {
                u32::MAX => String::new(),
                rounds => format!("{rounds} x "),
            };
            let line = format!("{name}{twin}: {times}{}", case.command());
            writeln!(out, "{}", plain_line(&line))?;
        }
        Ok(())
    })
    .context("cannot print the cases")
}

/// Prints what was found, and where the records are.
fn conclude(rounds: &mut Rounds, format: Format, full: bool) -> anyhow::Result<()> {
    let records = rounds.records();
    let printed = output::print_beside(records, rounds.store().path(), format, full);
    if signals::received().is_some() {
        console::say(format_args!(
            "the same options with --resume {} go on from here",
            console::shell_word(&rounds.store().path().to_string_lossy())
        ));
    }
    // Where the records are is said even if nothing could be printed.
    printed.and(rounds.conclude())
}
