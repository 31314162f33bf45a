//! `switchcost duel`: measures two builds or settings in turns, and judges what has changed.

use std::collections::BTreeSet;
use std::mem;
use std::time::Duration;

use anyhow::{bail, ensure};
use figures::pairs;
use figures::quotient::Compared;
use figures::verdict::{MARGIN, MIN_PAIRS};
use host::units::counted;
use record::{Command, Place, Row};

use super::args::Selection;
use super::gate::{End, GatedKinds, Limit};
use super::kept::Kept;
use super::output;
use crate::measure::rounds::Rounds;
use crate::measure::store::Store;
use crate::measure::turns::Options;
use crate::measure::{begin, pacing, probe};
use crate::plan::command::{self, CommandFlags};
use crate::plan::contents::Contents;
use crate::plan::lineup::{Lineup, Sides};
use crate::plan::programs::Programs;
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::views::comparison::Comparison;
use crate::views::runs::{Outputs, outputs};

#[derive(Debug, clap::Args)]
#[command(mut_arg("budget", |it| it.help(
    "Time for the whole duel, without builds: from 8 rounds on, none begins that would exceed it [default: the plan's, or \
     60s]"
)))]
#[command(mut_arg("out", |it| it.help(
    "Append the records to this file [default: duel-DATE.jsonl in this folder]"
)))]
pub(crate) struct Args {
    #[command(flatten)]
    sides: Sides,

    /// Maximum number of pairs per row, one per round [default: as many as the budget allows]; 8 are enough for counts
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(MIN_PAIRS as i64..))]
    pairs: Option<u32>,

    #[command(flatten)]
    limit: Limit,

    /// Figures that --fail-above judges
    #[arg(long, value_enum, default_value_t = GatedKinds::All, requires = "fail_above")]
    fail_on: GatedKinds,

    #[command(flatten)]
    keep: Kept,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    how: CommandFlags,

    /// Two commands in place of builds, with ::: between them; no shell runs them. Further pairs, such as other builds of
    /// the same sources, are rows of their own
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["plan", "filter"])]
    words: Vec<String>,
}

/// Time of a duel, if its plan has rounds.
const BUDGET: Duration = Duration::from_secs(60);

/// Why a program would not run in the way that a side asks for.
fn refusal(row: &Row, programs: &Programs) -> Option<String> {
    let Command { flags, setting, .. } = &row.command;
    match programs.of_row(row) {
        Ok(program) => probe::ask(program, flags, setting).err().map(|e| format!("{e:#}")),
        Err(why) => Some(why.to_string()),
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let rows = measure(args).map_err(|e| match e.is::<BadUsage>() || e.is::<End>() {
        true => e,
        false => End::untested(format!("{e:#}")).into(),
    })?;
    if signals::received().is_some() {
        return Ok(());
    }
    args.fail_on.judge(&rows, args.limit, "repeat the duel, or give it a larger --budget")
}

/// Measures and prints; returns the rows with their quotients.
fn measure(args: &Args) -> anyhow::Result<Vec<Compared>> {
    let is_of_commands = !args.words.is_empty();
    let mut sides = args.sides.clone();
    let plan = if is_of_commands {
        sides.commands = args.how.sides(&args.words)?;
        args.how.plan(&args.words)
    } else {
        args.selection.plan()?.with_three_counts()
    };
    let mut rows = plan.rows();
    args.selection.retain(&mut rows, false)?;
    sides.ensure_each_once()?;
    let lineup = Lineup::of_duel(rows, &plan.programs, &sides, refusal)?;
    let measured: Vec<Row> = lineup.measured().cloned().collect();
    let count = measured.iter().map(|row| row.place.cell()).collect::<BTreeSet<Place>>().len();
    let usual = if is_of_commands { command::MARGIN } else { MARGIN };
    let margin = args.limit.margin(usual);
    // Not before the builds: a signal that ends a build would leave an empty file.
    let store = Store::open(args.keep.out.as_deref(), "duel")?;
    let options = Options { around: sides.around(), ..args.keep.options.clone() };
    let mut header = begin::header(args.keep.seed, &lineup);
    header.margin = Some(margin);
    let contents = args.contents();
    header.notes.extend(plan.note().into_iter().chain(contents.note()));
    let mut rounds = Rounds::new(lineup, store, options, header)?;
    let budget = args.keep.budget.or(plan.budget).unwrap_or(BUDGET);
    let seed = rounds.header.seed;
    let rows = counted(count as u64, "row");
    console::say(format_args!("{rows}, in turns for {} s, seed {seed}", budget.as_secs_f64()));
    let mut choose = pairs::decider(margin, args.limit.fail_above, count);
    let mut are_told = false;
    let most_rounds = args.pairs.unwrap_or(u32::MAX);
    let has_pinned = measured.iter().any(|row| row.command.setting.cpus.is_some());
    if !is_of_commands {
        let usual_rounds = pacing::DUEL.usual_rounds(&measured, budget).min(most_rounds);
        say_what_fits(usual_rounds, count, has_pinned);
    }
    rounds.run(Some(budget), Some(&pacing::DUEL), |round, rows, records| {
        if round >= most_rounds {
            return Vec::new();
        }
        let different = outputs(records).into_iter().find(Outputs::are_different);
        if let Some(outputs) = different.filter(|_| !mem::replace(&mut are_told, true)) {
            console::say(format_args!("{}", outputs.sentence()));
        }
        let chosen = choose(round, rows, records);
        if round > 0 && !chosen.contains(&true) {
            let rounds = counted(round, "round");
            console::say(format_args!("every row is decided or has failed after {rounds}"));
        }
        chosen
    })?;
    let duel = Comparison::of_duel(&rounds.records);
    let printed = output::print(&duel, args.keep.format);
    // It says where the records are even if nothing could be printed.
    let concluded = rounds.conclude_any();
    printed.and(concluded)?;
    if let Some(path) = contents.changed() {
        bail!("{} is another file now than when the duel began: measure again", path.display());
    }
    ensure!(
        args.fail_on != GatedKinds::Output
            || !outputs(&rounds.records).iter().any(Outputs::are_different),
        End::worse("the output of B differs".to_owned())
    );
    Ok(duel.rows)
}

impl Args {
    /// The files of the commands, if no shell chooses them.
    fn contents(&self) -> Contents {
        if self.words.is_empty() || self.how.has_shell() {
            return Contents::default();
        }
        Contents::of(&command::commands(&self.words))
    }
}

/// Says before the start what so many rounds can show, from the usual spread of pairs.
fn say_what_fits(rounds: u32, count: usize, has_pinned: bool) {
    let reach = pairs::usual_reach(rounds, count).filter(|_| has_pinned);
    let reach = reach.map(|shares| {
        let [steady, unsteady] = shares.map(|share| share * 100.0);
        format!(": pinned rows usually show changes beyond ± {steady:.1} %, or ± {unsteady:.1} % on an unsteady machine")
    });
    console::say(format_args!("about {rounds} rounds{}", reach.unwrap_or_default()));
}
