//! `switchcost sweep`: one flag over a range.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Context;
use clap::ArgGroup;
use host::units::counted;
use humantime::format_duration;
use record::{Setting, place_of, with_value};

use super::kept::Kept;
use super::output;
use crate::measure::store::Store;
use crate::measure::{campaign, probe};
use crate::plan::command::CommandFlags;
use crate::plan::programs::Programs;
use crate::plan::sweep::{self, placed};
use crate::plan::{FlagValues, RowTable, Section, built_in_tables, range};
use crate::system::console::{self, BadUsage};

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("swept").required(true).args([
    "tasks", "tokens", "over",
])))]
#[command(mut_arg("budget", |it| it.help(
    "Time for the whole run, without builds: nothing starts after that, and values that were not reached are listed \
     [default: 10m]"
)))]
pub(crate) struct Args {
    /// Vary the number of tasks, such as 2..100000, as far as the limits of this system allow
    #[arg(long, value_name = "FROM..TO", value_parser = range::parse)]
    tasks: Option<RangeInclusive<u64>>,

    /// Vary the number of tokens that travel at the same time
    #[arg(long, value_name = "FROM..TO", value_parser = range::parse)]
    tokens: Option<RangeInclusive<u64>>,

    /// Vary another flag that takes a number, which may have a unit, such as contenders=1..36 or length=1..10000us
    #[arg(long, value_name = "NAME=FROM..TO[UNIT]", value_parser = FlagRange::parse)]
    over: Option<FlagRange>,

    /// Number of values, spaced by equal factors, including both ends
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=1000))]
    points: u32,

    /// Program to measure, with or without flags, such as "async-mem-brigade --tokens 2"; repeatable
    #[arg(long, value_name = "PROGRAM", value_parser = sweep::row, default_values = ["thread-brigade", "async-brigade", "async-mem-brigade"])]
    program: Vec<RowTable>,

    /// Where each process may run: on every CPU, or pinned to one; repeatable
    #[arg(long, value_parser = ["unpinned", "pinned"], default_values = ["unpinned", "pinned"])]
    placement: Vec<String>,

    /// Number of processes per value
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Approximate number of hops that each process times, or of creations if there are no hops; a process times at least
    /// three iterations
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    hops: u64,

    #[command(flatten)]
    keep: Kept,

    #[command(flatten)]
    how: CommandFlags,

    /// Command in place of programs, with {NAME} wherever --over NAME=FROM..TO puts its value; no shell runs it
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["program", "hops"])]
    words: Vec<String>,
}

/// What is swept.
#[derive(Clone, Debug)]
struct FlagRange {
    /// The flag, with its dashes.
    flag: String,
    range: RangeInclusive<u64>,
    /// Unit of the range; empty for plain numbers.
    unit: String,
}

impl FlagRange {
    fn new(name: &str, range: RangeInclusive<u64>, unit: &str) -> Self {
        FlagRange { flag: format!("--{name}"), range, unit: unit.to_owned() }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let Some((name, values)) = text.split_once('=') else {
            return Err(format!(
                "'{text}' is not NAME=FROM..TO: write one such as length=1..100us"
            ));
        };
        let numbers = values.trim_end_matches(char::is_alphabetic);
        let begins_with_digit = numbers.starts_with(|letter: char| letter.is_ascii_digit());
        if begins_with_digit && numbers.contains(char::is_alphabetic) {
            return Err(format!("'{values}' has a unit twice: write it once, as in 1..100us"));
        }
        let range = range::parse(numbers)?;
        Ok(FlagRange::new(name.trim_start_matches('-'), range, &values[numbers.len()..]))
    }
}

/// Timed runs of a command in each round of a value.
const RUNS: u64 = 5;

/// Default time of a sweep.
const BUDGET: Duration = Duration::from_secs(600);

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let numbers = [("tasks", &args.tasks), ("tokens", &args.tokens)];
    let swept = numbers
        .into_iter()
        .find_map(|(name, range)| Some(FlagRange::new(name, range.clone()?, "")))
        .or_else(|| args.over.clone());
    let swept = swept.context("a sweep has one of --tasks, --tokens and --over")?;
    let values = range::points(&swept.range, args.points);
    let sweep = Section {
        over: Some(FlagValues { flag: swept.flag, values, unit: swept.unit }),
        columns: args.placement.iter().map(|at| placed(at == "pinned")).collect(),
        rows: args.program.clone(),
        rounds: Some(args.rounds),
        hops: Some(args.hops),
        ..Section::default()
    };
    if args.words.is_empty() {
        return measure(sweep, args);
    }
    let mut row = args.how.row(&args.words)?;
    row.iters = Some(RUNS);
    let over = sweep.over.clone().unwrap_or_default();
    let place = place_of(&over.flag);
    if !args.words.iter().any(|word| word.contains(&place)) {
        let why = format!("write {place} in the command, where the value belongs");
        return Err(BadUsage::new(why));
    }
    measure(Section { rows: vec![row], hops: None, ..sweep }, args)
}

/// Measures as much of a sweep as the limits allow, and names the rest.
fn measure(sweep: Section, args: &Args) -> anyhow::Result<()> {
    let sweep = sweep::checked(sweep).map_err(|e| BadUsage::new(format!("{e:#}")))?;
    let store = Store::open(args.keep.out.as_deref(), "switchcost")?;
    let tables = built_in_tables()?;
    let names = sweep.rows.iter().filter_map(|row| row.variant.program.as_deref());
    let programs = Programs::up_to_date(names, &tables)?;
    let over = sweep.over.clone().unwrap_or_default();
    let plan = sweep::plan(&sweep, tables, |it| {
        let program = programs.named(it.program.as_ref()?).ok()?;
        let value = format!("{}{}", over.values.first()?, over.unit);
        let flags = with_value(&it.flags, &over.flag, &value);
        probe::describe(program, &flags, &Setting::default()).ok()
    });
    let lineup = campaign::lineup(programs, plan.rows())?;
    if lineup.measured().next().is_none() {
        let why = lineup.absent.values().next().map_or("it has none", String::as_str);
        return Err(BadUsage::new(format!(
            "no value of this sweep can be measured: {why}: change its range or the flags, or see `switchcost limits`"
        )));
    }
    let limit = args.keep.budget.unwrap_or(BUDGET);
    let processes: u64 = lineup.measured().map(|row| u64::from(row.effort.most_rounds())).sum();
    console::say(format_args!(
        "{}; nothing starts after {} (--budget)",
        counted(processes, "process"),
        format_duration(limit)
    ));
    let Kept { seed, options, format, .. } = &args.keep;
    let mut rounds = campaign::run(lineup, &plan, *seed, store, options.clone(), Some(limit))?;
    let printed = output::print_new(&rounds.records, &rounds.store.path, *format, true);
    printed.and(rounds.conclude())
}
