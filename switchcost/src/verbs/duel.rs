//! `switchcost duel`: two builds or settings in turns, and what has changed.

use std::collections::BTreeSet;
use std::slice;
use std::time::Duration;

use super::args::Selection;
use super::gate::{End, Gate};
use super::kept::{Kept, say_how_to_go_on};
use super::output;
use crate::figures::finding::Row;
use crate::figures::pairs::{self, Decider, MIN_PAIRS};
use crate::figures::verdict::MARGIN;
use crate::measure::deadline::Time;
use crate::measure::rounds::{Keep, Rounds};
use crate::measure::turns::Options;
use crate::measure::{pacing, probe};
use crate::plan::change::Change;
use crate::plan::lineup::{Around, Lineup, Sides};
use crate::plan::programs::Programs;
use crate::plan::scheduling::Cpus;
use crate::plan::side::Side;
use crate::plan::{Case, values};
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::views::comparison::Comparison;

#[derive(Debug, clap::Args)]
#[command(mut_arg("budget", |it| it.help(
    "Time for the whole duel, builds apart: rounds go on until it is used [default: 60s]"
)))]
#[command(mut_arg("out", |it| it.help(
    "Append the records to this file [default: duel-DATE.jsonl in this folder]"
)))]
pub(crate) struct Args {
    /// Old side; it is measured against itself too, which shows the noise
    #[arg(value_name = "A", default_value = ".")]
    first: Side,

    /// New side
    #[arg(value_name = "B", default_value = ".")]
    second: Side,

    /// Most pairs of a row, one in each round [default: as many as the budget allows]; 8 are enough for counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(MIN_PAIRS as i64..))]
    pairs: Option<u32>,

    /// End with status 1 if the whole interval of a change for the worse lies above this, with 125 if a row fails; it is
    /// the margin of 'unchanged', too [default: 5% for that alone]. 5% and 5 are the same
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = values::percent)]
    fail_above: Option<f64>,

    /// Figures that --fail-above looks at
    #[arg(long, value_enum, default_value_t = Gate::All, requires = "fail_above")]
    fail_on: Gate,

    #[command(flatten)]
    keep: Kept,

    // The heading of a group is that of all that follows it.
    #[command(flatten)]
    settings: Settings,

    #[command(flatten)]
    selection: Selection,
}

/// Time of a duel if nobody says how much.
const BUDGET: Duration = Duration::from_secs(60);

/// What the sides are started with.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Settings")]
struct Settings {
    /// Setting of the old side, repeatable: NAME=VALUE (environment), flags="--workers 4" (for the programs that
    /// know them), cpus=0-3, policy=batch, slack=1ns, wrap="nice -n 19" (a command that executes the program),
    /// or seccomp=docker (the filter of Docker's default profile: moby/profiles, seccomp/v0.2.3)
    #[arg(long = "a", value_name = "SETTING")]
    a: Vec<Change>,

    /// Setting of the new side, repeatable
    #[arg(long = "b", value_name = "SETTING")]
    b: Vec<Change>,

    /// A further setting of the new side, repeatable: each has rows of its own, and all intervals hold together
    #[arg(long, value_name = "SETTING")]
    each: Vec<Change>,

    /// Command that runs before the new side's processes start and before its slices, as `sh -c` does, such as
    /// "sysctl -q kernel.sched_autogroup_enabled=0"
    #[arg(long, value_name = "COMMAND", requires = "after_b")]
    before_b: Option<String>,

    /// Command that runs after them, in any case, and puts back what the other one changed; `true` if it is nothing
    #[arg(long, value_name = "COMMAND")]
    after_b: Option<String>,
}

/// Why a program would not run as a side has it.
fn refusal(case: &Case, programs: &Programs) -> Option<String> {
    let setting = case.setting_among(Cpus::allowed().ok().as_ref());
    match programs.of(case) {
        Ok(program) => match probe::ask(program, &case.flags, &setting) {
            Ok(answer) => answer.reason(),
            Err(error) => Some(format!("{error:#}")),
        },
        Err(why) => Some(why.to_string()),
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let rows = measure(args)
        .map_err(|e| if e.is::<BadUsage>() { e } else { End::untested(format!("{e:#}")).into() })?;
    if signals::received().is_some() {
        return Ok(());
    }
    args.fail_on.judge(&rows, args.fail_above, "repeat it, or give a larger --budget")
}

/// Measures and prints; returns the rows with their findings.
fn measure(args: &Args) -> anyhow::Result<Vec<Row>> {
    let earlier = args.keep.earlier()?;
    let plan = args.selection.plan()?.with_three_counts();
    let mut cases = plan.cases();
    args.selection.retain(&mut cases, false)?;
    args.keep.measure.ensure_can_keep(&cases)?;
    let Settings { a, b, each, before_b, after_b } = &args.settings;
    let around = Around { before: before_b.clone(), after: after_b.clone() };
    let builds = [&args.first, &args.second];
    let sides = Sides { builds, changes: [a, b], each, around: &around };
    let Lineup { cases, left_out, programs, names } =
        Lineup::of(cases, &plan.programs, &sides, refusal)?;
    let rows = cases.iter().map(|case| case.index).collect::<BTreeSet<u32>>().len();
    let margin = args.fail_above.filter(|&limit| limit > 0.0).unwrap_or(MARGIN);
    // Not before the builds: the signal that ends one would leave an empty file.
    let store = args.keep.store("duel")?;
    let path = store.path().to_owned();
    let options = Options { around: around.clone(), ..args.keep.measure.options() };
    let keep = Keep { store, seed: args.keep.seed, options, earlier };
    let mut rounds = Rounds::new(programs, keep, &cases, &left_out, |header| {
        (header.sides, header.margin) = (Some(names), Some(margin));
    })?;
    let s = if rows == 1 { " takes" } else { "s take" };
    let budget = args.keep.budget.unwrap_or(BUDGET);
    let seed = rounds.header.seed;
    console::say(format_args!("{rows} row{s} turns for {} s, seed {seed}", budget.as_secs_f64()));
    let mut decider = Decider::new(margin, rows);
    let most = args.pairs.unwrap_or(u32::MAX);
    say_what_fits(&cases, budget, most, rows);
    rounds.run(cases, Time::Budget(budget), &pacing::DUEL, |round, cases, records| {
        let programs: Vec<(u32, bool)> = cases.iter().map(|case| (case.index, case.twin)).collect();
        if round < most { decider.choose(round, &programs, records) } else { Vec::new() }
    })?;
    let duel = Comparison::of_duel(rounds.records());
    let printed = output::print_comparisons(slice::from_ref(&duel), args.keep.format);
    say_how_to_go_on(&path);
    // It says where the records are even if nothing could be printed.
    let concluded = rounds.conclude_any();
    printed.and(concluded)?;
    Ok(duel.rows)
}

/// Says before it starts what a duel can show, from what programs usually take and how pairs usually spread.
fn say_what_fits(cases: &[Case], budget: Duration, most: u32, rows: usize) {
    let (rounds, least) = pacing::forecast(cases, budget);
    if least > budget {
        console::say(format_args!(
            "{MIN_PAIRS} rounds, which a verdict needs, take about {0:.0} s: give --budget {0:.0}s, or fewer rows",
            least.as_secs_f64().ceil()
        ));
    }
    let rounds = rounds.min(most);
    if let Some([steady, unsteady]) = pairs::usual_reach(rounds, rows) {
        console::say(format_args!(
            "about {rounds} rounds: pinned rows usually show a change beyond ± {:.1} %, on an unsteady machine ± {:.1} %",
            steady * 100.0,
            unsteady * 100.0
        ));
    }
}
