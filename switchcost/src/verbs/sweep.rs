//! `switchcost sweep`: one flag over a range.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, ValueEnum};
use contract::units::{Bytes, Span};
use facts::Metric;

use super::kept::Kept;
use crate::plan::range::Range;
use crate::plan::sweep::{CommandLine, Sweep, distinct};
use crate::plan::{Over, ensure_no_runner_flags};
use crate::system::console::BadUsage;

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("swept").required(true).args([
    "tasks", "tokens", "idle", "over",
])))]
pub(crate) struct Args {
    /// Sweep the number of tasks, such as 2..100000, as far as the limits of this system allow
    #[arg(long, value_name = "FROM..TO")]
    tasks: Option<Range>,

    /// Sweep the number of tokens in flight
    #[arg(long, value_name = "FROM..TO")]
    tokens: Option<Range>,

    /// Sweep the number of idle tasks beside the chain, such as 0..100000
    #[arg(long, value_name = "FROM..TO")]
    idle: Option<Range>,

    /// Sweep another flag whose value is a number, a size or a time, such as capacity=1..64,
    /// stack-size=64KiB..8MiB or length=1us..10ms
    #[arg(long, value_name = "NAME=FROM..TO", value_parser = named)]
    over: Option<Swept>,

    /// Number of values, at equal factors, both ends included
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=1000))]
    points: u32,

    /// A program to measure, with flags if need be, such as "async-mem-brigade --shuffle 1"; give it
    /// several times for several
    #[arg(long, value_name = "PROGRAM", default_values = ["thread-brigade", "async-brigade", "async-mem-brigade"])]
    program: Vec<CommandLine>,

    /// Only programs whose command line contains this text, case-insensitive
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    filter: Option<String>,

    /// Where each process may run: on every CPU, or pinned to one; give it twice for both
    #[arg(long, value_enum, default_values = ["unpinned", "pinned"])]
    placement: Vec<Placement>,

    /// Processes for each value
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// About how many hops each process times, or creations if nothing is handed over; three
    /// iterations at least
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    hops: u64,

    /// Another figure of the same processes, as a curve of its own: set-up, first-iteration, teardown,
    /// system-per-task or any other metric of plans; give it several times for several
    #[arg(long, value_name = "METRIC", value_parser = figure)]
    also: Vec<Metric>,

    #[command(flatten)]
    keep: Kept,

    /// Flags for every program, such as --tasks 500
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// Time of a sweep if nobody says how much.
const BUDGET: Duration = Duration::from_secs(600);

/// Where a process may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Placement {
    /// on every CPU that the runner may use
    Unpinned,
    /// on the first of them
    Pinned,
}

/// A metric that a single process has.
fn figure(text: &str) -> Result<Metric, String> {
    let metric: Metric = text.parse()?;
    if metric.is_slope() {
        Err("a slope is a figure of many processes; write system-per-task".to_owned())
    } else {
        Ok(metric)
    }
}

/// A flag that is swept.
#[derive(Clone, Debug)]
struct Swept {
    /// Its name, without dashes.
    flag: String,
    range: Range,
    /// What its values are typed in: `ns`, or nothing for plain numbers.
    unit: &'static str,
}

impl Swept {
    fn number(flag: &str, range: Range) -> Self {
        Swept { flag: flag.to_owned(), range, unit: "" }
    }
}

/// A flag's name and its range, of numbers, sizes or times.
fn named(text: &str) -> Result<Swept, String> {
    let (name, range) =
        text.split_once('=').ok_or_else(|| format!("'{text}' is not NAME=FROM..TO"))?;
    let name = name.trim_start_matches('-');
    let of_flag = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || !name.chars().all(of_flag) {
        return Err(format!("'{name}' is not the name of a flag"));
    }
    ensure_no_runner_flags(&[format!("--{name}")]).map_err(|e| e.to_string())?;
    match Range::parse(range, |end| Some(end.parse::<Span>().ok()?.0)) {
        // Of times without a unit nobody could tell which was meant.
        Ok(range) => Ok(Swept { unit: "ns", ..Swept::number(name, range) }),
        Err(of_times) => {
            if range.contains(char::is_alphabetic) {
                Range::parse(range, |end| Some(end.parse::<Bytes>().ok()?.0))
                    .map(|range| Swept::number(name, range))
                    .map_err(|_| of_times)
            } else {
                Ok(Swept::number(name, range.parse()?))
            }
        }
    }
}

impl Args {
    /// The flag that is swept, and its range; the command line has exactly one.
    fn swept(&self) -> anyhow::Result<Swept> {
        let flags = [("tasks", self.tasks), ("tokens", self.tokens), ("idle", self.idle)];
        let swept = flags
            .into_iter()
            .find_map(|(name, range)| Some(Swept::number(name, range?)))
            .or_else(|| self.over.clone());
        swept.ok_or_else(|| BadUsage::new("sweep: no flag has a range"))
    }

    fn plan(&self) -> anyhow::Result<Sweep> {
        let Swept { flag, range, unit } = self.swept()?;
        let filter = self.filter.as_deref().unwrap_or_default().to_lowercase();
        let mut programs = distinct(&self.program);
        programs.retain(|line| line.to_string().to_lowercase().contains(&filter));
        if programs.is_empty() {
            return Err(BadUsage::new(format!(
                "--filter: no program has '{filter}' in its command line"
            )));
        }
        Ok(Sweep {
            over: Over::of(&flag, range.points(self.points), unit),
            programs,
            pins: distinct(&self.placement).iter().map(|&at| at == Placement::Pinned).collect(),
            also: distinct(&self.also),
            flags: self.flags.clone(),
            hops: self.hops,
            rounds: self.rounds,
            alone: false,
        })
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    args.keep.sweep(&args.plan()?, Some(args.keep.budget.unwrap_or(BUDGET)))
}
