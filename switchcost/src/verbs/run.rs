//! `switchcost run`: runs a plan and prints its tables.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::plan::values;
use crate::system::console::{self, BadUsage, plain_line};
use crate::system::signals;
use anyhow::Context;
use clap::Parser;
use clap::builder::{
    NonEmptyStringValueParser, OsStringValueParser, PossibleValue, TypedValueParser,
};

use record::Record;

use super::output::{self, Format};
use crate::measure::rounds::Rounds;
use crate::measure::store::{self, Contents, Store};
use crate::plan::placement;
use crate::plan::programs::Programs;
use crate::plan::{BUILT_IN, BuiltIn, Case, Plan};
use crate::verbs::args::Measure;

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

/// What becomes of the records of a verb that makes its own plan. (`run` has these flags too, but
/// there they exclude `--resume`.)
#[derive(Debug, clap::Args)]
pub(super) struct Keep {
    /// Append the records to this file [default: switchcost-DATE.jsonl in this folder]
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(super) out: Option<PathBuf>,

    /// Shuffle each round by this number [default: drawn from the clock]
    #[arg(long, value_name = "N", help_heading = "Advanced")]
    pub(super) seed: Option<u64>,

    #[command(flatten)]
    pub(super) measure: Measure,

    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Results")]
    pub(super) format: Format,
}

/// Cases of a plan.
#[derive(Debug, clap::Args)]
pub(super) struct Selection {
    /// Built-in plan by its name, or a TOML file by its path [default: default]
    #[arg(long, value_name = "NAME|PATH", value_parser = PlanParser, help_heading = "Plan")]
    plan: Option<OsString>,

    /// Only cases whose section, row or column contains this text, case-insensitive; run keeps the rows
    /// that they are divided by, or that they subtract, too
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new(), help_heading = "Plan")]
    filter: Option<String>,
}

impl Selection {
    /// The whole plan.
    pub(super) fn plan(&self) -> anyhow::Result<Plan> {
        match &self.plan {
            None => Plan::built_in(),
            Some(plan) => named(plan),
        }
    }

    /// Keeps the cases that the filter lets through.
    pub(super) fn retain(&self, cases: &mut Vec<Case>) -> anyhow::Result<()> {
        let Some(filter) = &self.filter else {
            return Ok(());
        };
        cases.retain(|case| case.matches(filter));
        match cases.is_empty() {
            false => Ok(()),
            true => Err(BadUsage::new(format!(
                "--filter: no case has '{filter}' in its section, row or column; `switchcost run --list` shows all"
            ))),
        }
    }
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
        let all = plan.cases(self.quick);
        let mut wanted = all.clone();
        self.selection.retain(&mut wanted)?;
        // What a ratio divides by and a difference subtracts is measured with it.
        let needs = |case: &Case, other: &Case| {
            case.cell.section == other.cell.section
                && case.cell.column == other.cell.column
                && case
                    .cell
                    .baseline
                    .iter()
                    .chain(&case.cell.versus)
                    .any(|row| *row == other.cell.row)
        };
        let mut cases = all;
        cases.retain(|other| wanted.iter().any(|case| case == other || needs(case, other)));
        if self.a_a {
            let twins: Vec<Case> = cases.iter().filter_map(Case::twin).collect();
            cases.extend(twins);
        }
        Ok((plan, cases))
    }
}

/// Takes any text, and lets the help and the shells name the built-in plans.
#[derive(Clone, Copy)]
struct PlanParser;

impl TypedValueParser for PlanParser {
    type Value = OsString;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<OsString, clap::Error> {
        OsStringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |plan: &BuiltIn| PossibleValue::new(plan.name).help(plan.about);
        Some(Box::new(BUILT_IN.iter().map(value)))
    }
}

/// The built-in plan of that name, or the one in that file.
fn named(plan: &OsStr) -> anyhow::Result<Plan> {
    if let Some(built_in) = plan.to_str().and_then(BuiltIn::named) {
        return built_in.plan();
    }
    let path = Path::new(plan);
    let fault = |what: String| BadUsage::new(format!("--plan: {what}"));
    let text = fs::read_to_string(path).map_err(|e| {
        let names: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
        fault(format!(
            "cannot read {}: {e}; the built-in plans are {}",
            path.display(),
            names.join(", ")
        ))
    })?;
    Plan::parse(&text).map_err(|e| fault(format!("{}: {e:#}", path.display())))
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    match args.list {
        true => list(args),
        false => conclude(&mut measure(args)?, args.format, args.full),
    }
}

/// Records of a short run of the default plan, which are kept nowhere else.
pub(super) fn quick() -> anyhow::Result<Vec<Record>> {
    #[derive(clap::Parser)]
    struct Flags {
        #[command(flatten)]
        run: Args,
    }
    let folder = tempfile::tempdir()
        .context("cannot make a folder for the results: let TMPDIR name one that can be written")?;
    let out = folder.path().join("quick.jsonl");
    let flags = [OsStr::new("run"), OsStr::new("--quick"), OsStr::new("--out"), out.as_os_str()];
    Ok(measure(&Flags::try_parse_from(flags)?.run)?.records().to_vec())
}

/// Runs the plan.
fn measure(args: &Args) -> anyhow::Result<Rounds> {
    let earlier = match &args.resume {
        Some(path) => earlier(path)?,
        None => Contents::default(),
    };
    let seed = earlier.runs.last().map(|run| run.seed);
    let seed = seed.or(args.seed).unwrap_or_else(drawn_seed);
    let (plan, cases) = args.cases()?;
    // The file first: nothing may be measured that cannot be kept.
    let store = Store::open(args.out.as_deref().or(args.resume.as_deref()))?;
    let path = store.path().to_owned();
    // Until here nothing is lost, and the first signal ends what may wait for ever: a FIFO.
    let programs =
        Programs::up_to_date(cases.iter().map(|case| case.program.as_str()), &plan.programs)?;
    let options = args.measure.options();
    let programs = (programs.executables(), programs.build());
    let mut rounds = Rounds::new(programs, store, seed, options, &cases)?
        .resume(earlier, &cases)
        .map_err(|e| BadUsage::new(format!("--resume: {}: {e}", path.display())))?;

    let (cases, absent) = placement::place(cases)?;
    for (case, reason) in &absent {
        rounds.leave_out(case, reason)?;
    }
    rounds.run(cases, plan.budget)?;
    Ok(rounds)
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

/// The records of a run that is to go on.
pub(super) fn earlier(path: &Path) -> anyhow::Result<Contents> {
    let fault = |what: String| BadUsage::new(format!("--resume: {}: {what}", path.display()));
    if path == Path::new("-") {
        return Err(fault("a run can only go on in a file".to_owned()));
    }
    let contents = store::read_any(path)?;
    if contents.runs.is_empty() && !contents.faults.is_empty() {
        return Err(fault("it holds no record".to_owned()));
    }
    store::tell(path, &contents);
    Ok(contents)
}

/// Prints what was found, and where the records are.
fn conclude(rounds: &mut Rounds, format: Format, full: bool) -> anyhow::Result<()> {
    let records = rounds.records();
    let printed = output::print(records, format, full);
    if signals::received().is_some() {
        console::say(format_args!(
            "the same options with --resume {} go on from here",
            rounds.store().path().display()
        ));
    }
    // Where the records are is said also where nothing could be printed.
    printed.and(rounds.conclude())
}

pub(super) fn drawn_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // Short enough to be typed again.
    now.map_or(1, |t| t.as_nanos() as u64 / 1000 % 1_000_000)
}
