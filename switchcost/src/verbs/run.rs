//! `switchcost run`: runs a plan, and prints its answer or its tables.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::units::counted;
use record::{Cpus, Row, Side};

use super::args::Selection;
use super::kept::Kept;
use super::output;
use crate::measure::campaign;
use crate::measure::store::Store;
use crate::plan::Plan;
use crate::plan::lineup::Lineup;
use crate::plan::programs::{self, Programs};
use crate::plan::values::time_limit;
use crate::system::console::{self, shell_line};
use crate::system::progress;

#[derive(Debug, clap::Args)]
#[command(mut_arg("budget", |it| it.help(
    "Time for the whole run, without builds: from 5 rounds on, none begins that would exceed it [default: the plan's]"
)))]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Run for 15 s only, or as long as five rounds take, with a quarter of the iterations; intervals are wider
    #[arg(long, help_heading = "Plan")]
    quick: bool,

    /// Number of rounds, instead of the plan's rounds or budget
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "budget", help_heading = "Plan")]
    rounds: Option<u32>,

    /// Run the plan so many times, and print one answer, in which each session is a sample; intervals are narrower, and
    /// hold for more than one session
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Plan")]
    sessions: u32,

    /// Time from the start of one session to the start of the next
    #[arg(long, value_name = "TIME", default_value = "5m", allow_hyphen_values = true, value_parser = time_limit, requires = "sessions", help_heading = "Plan")]
    every: Duration,

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
    /// The plan and its rows.
    fn rows(&self) -> anyhow::Result<(Plan, Vec<Row>)> {
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
        let mut rows = plan.rows();
        self.selection.retain(&mut rows, true)?;
        programs::ensure_known(rows.iter().map(|row| &*row.command.program), &plan.programs)?;
        Ok((plan, rows))
    }

    /// Measures the plan, in so many sessions, and prints what all of them say. What was measured is printed even if a later
    /// session cannot be.
    fn measure(&self, plan: &Plan, lineup: &Lineup, mut store: Store) -> anyhow::Result<()> {
        let Kept { seed, options, format, .. } = &self.keep;
        let path = store.path.clone();
        let mut earlier = Vec::new();
        let mut session = 1;
        loop {
            let begun = Instant::now();
            if self.sessions > 1 {
                console::say(format_args!("session {session} of {}", self.sessions));
            }
            // Each with an order of its own.
            let seed = seed.map(|seed| seed.wrapping_add(u64::from(session) - 1));
            let run = campaign::run(lineup.clone(), plan, seed, store, options.clone(), None);
            let mut rounds = match run {
                Err(e) if !earlier.is_empty() => {
                    return output::print_new(&earlier, &path, *format, self.full).and(Err(e));
                }
                run => run?,
            };
            rounds.records.splice(0..0, earlier);
            let is_last = session == self.sessions || rounds.has_failed();
            if is_last || !progress::wait("the next session", begun + self.every) {
                // Where the records are is said even if nothing could be printed.
                let printed = output::print_new(&rounds.records, &path, *format, self.full);
                return printed.and(rounds.conclude());
            }
            (store, earlier) = (rounds.store, rounds.records);
            session += 1;
        }
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let (plan, rows) = args.rows()?;
    if args.list {
        return list(&rows);
    }
    // Before anything is built that cannot be kept.
    let opened = Store::open(args.keep.out.as_deref(), "switchcost")?;
    // Until here nothing is lost, and the first signal ends what may wait for ever: a FIFO.
    let names = rows.iter().map(|row| row.command.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    let lineup = campaign::lineup(programs, rows)?;
    args.measure(&plan, &lineup, opened)
}

/// Prints one line for each row.
fn list(rows: &[Row]) -> anyhow::Result<()> {
    console::show(|out| rows.iter().try_for_each(|row| writeln!(out, "{}", line(row))))
        .context("cannot print the cases")
}

/// Name of a row, how often it runs, its command, and how it is started.
fn line(row: &Row) -> String {
    let Row { place, command, effort, .. } = row;
    let twin = if place.side == Side::Twin { " (A/A)" } else { "" };
    let times = effort.rounds.map_or(String::new(), |rounds| format!("{rounds} x "));
    let words = shell_line([&command.program].into_iter().chain(&row.args()));
    // The runner asks for the iterations: a program need not have a flag for them.
    let iterations = counted(effort.iters, "iteration");
    let mut line = format!("{}{twin}: {times}{words} ({iterations})", place.name());
    line += &match &command.setting.cpus {
        None => String::new(),
        Some(Cpus::First) => " (pinned)".to_owned(),
        Some(Cpus::Related(relation)) => format!(" (two CPUs: {})", relation.name()),
        Some(cpus) => format!(" (CPUs {cpus})"),
    };
    line + &command.setting.policy.map_or(String::new(), |policy| format!(" (policy {policy})"))
}
