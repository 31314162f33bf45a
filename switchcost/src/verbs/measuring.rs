//! What verbs share that measure: which cases, what becomes of the records, and the run itself.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::builder::{
    NonEmptyStringValueParser, OsStringValueParser, PossibleValue, TypedValueParser,
};
use facts::Record;
use humantime::format_duration;

use super::args::Measure;
use super::output::{self, Format};
use crate::measure::probe;
use crate::measure::rounds::Rounds;
use crate::measure::store::{self, Contents, Store};
use crate::measure::turns::Options;
use crate::plan::feasibility::Feasibility;
use crate::plan::programs::Programs;
use crate::plan::setting::Setting;
use crate::plan::sweep::{self, Cut, Planned, Sweep};
use crate::plan::{BUILT_IN, BuiltIn, Case, Plan, built_in_tables, placement, values};
use crate::system::console::{self, BadUsage};
use crate::system::replace;

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

    /// Time after which no process is started; values that have none by then are named [default: 10m for sweep,
    /// no limit for scale and memory]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = values::time_limit)]
    pub(super) budget: Option<Duration>,

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

    /// Only cases whose section, row, column or name in the answer contains this text, case-insensitive, or a line of
    /// --list; run keeps the rows that they are divided by, or that they subtract, too
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

    /// Keeps the cases that the filter lets through, and those that a ratio of theirs divides by or a difference
    /// subtracts, if they are measured with it.
    pub(super) fn retain(&self, cases: &mut Vec<Case>, with_needs: bool) -> anyhow::Result<()> {
        let Some(filter) = &self.filter else {
            return Ok(());
        };
        let cell = |case: &Case, row: &str| {
            (case.cell.section.clone(), case.cell.column.clone(), row.to_owned())
        };
        let wanted: Vec<bool> = cases.iter().map(|case| case.matches(filter)).collect();
        if !wanted.contains(&true) {
            return Err(BadUsage::new(format!(
                "--filter: no case has '{filter}' in its section, row, column or name in the answer; `switchcost run \
                 --list` shows all"
            )));
        }
        let mut needed = HashSet::new();
        for (case, _) in cases.iter().zip(&wanted).filter(|(_, wanted)| **wanted && with_needs) {
            let rows = case.cell.baseline.iter().chain(&case.cell.versus);
            needed.extend(rows.map(|row| cell(case, row)));
        }
        let mut wanted = wanted.into_iter();
        cases.retain(|case| {
            wanted.next() == Some(true) || needed.contains(&cell(case, &case.cell.row))
        });
        Ok(())
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

/// No plan is longer, in bytes.
const LONGEST_PLAN: u64 = 1 << 20;

/// The built-in plan of that name, or the one in that file.
fn named(plan: &OsStr) -> anyhow::Result<Plan> {
    if let Some(built_in) = plan.to_str().and_then(BuiltIn::named) {
        return built_in.plan();
    }
    let path = Path::new(plan);
    let fault = |what: String| BadUsage::new(format!("--plan: {what}"));
    let text = replace::read(path, LONGEST_PLAN).map_err(|e| {
        let names: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
        fault(format!(
            "cannot read {}: {e}; the built-in plans are {}",
            path.display(),
            names.join(", ")
        ))
    })?;
    let plan = Plan::parse(&text).map_err(|e| fault(format!("{}: {e:#}", path.display())))?;
    plan.with_paths_from(path.parent().unwrap_or(path)).map_err(fault)
}

/// The records of a run that is to go on.
pub(super) fn earlier(path: &Path) -> anyhow::Result<Contents> {
    let fault = |what: String| BadUsage::new(format!("--resume: {}: {what}", path.display()));
    if path == Path::new("-") {
        return Err(fault("a run can only go on in a file".to_owned()));
    }
    // What could not be appended to is not read either.
    if let Ok(found) = fs::symlink_metadata(path) {
        replace::ensure_output(&found).map_err(|why| fault(why.to_string()))?;
    }
    let contents = store::read_any(path)?;
    if contents.runs.is_empty() && !contents.faults.is_empty() {
        return Err(fault("it holds no record".to_owned()));
    }
    store::tell(path, &contents);
    Ok(contents)
}

/// Measures cases of a plan, after those that an earlier run has measured.
pub(super) fn run_plan(
    plan: &Plan,
    cases: Vec<Case>,
    store: Store,
    seed: Option<u64>,
    options: Options,
    earlier: Contents,
) -> anyhow::Result<Rounds> {
    let seed = earlier.runs.last().map(|run| run.seed).or(seed).unwrap_or_else(drawn_seed);
    let path = store.path().to_owned();
    // Until here nothing is lost, and the first signal ends what may wait for ever: a FIFO.
    let names = cases.iter().map(|case| case.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    let too_large = counts_beyond_limits(&programs, &cases);
    let (mut cases, mut absent) = placement::place_cases(cases)?;
    let all: Vec<Case> = cases.iter().chain(absent.iter().map(|(case, _)| case)).cloned().collect();
    let mut rounds = Rounds::new(programs, store, seed, options, &all)?
        .asking(plan.question.clone())
        .resume(earlier, &all)
        .map_err(|e| BadUsage::new(format!("--resume: {}: {e}", path.display())))?;
    cases.retain(|case| {
        let reason = too_large.get(&(case.index, case.x));
        absent.extend(reason.map(|reason| (case.clone(), reason.clone())));
        reason.is_none()
    });
    for (case, reason) in &absent {
        rounds.leave_out(case, reason)?;
    }
    rounds.run(cases, plan.budget)?;
    Ok(rounds)
}

/// Task counts of slopes that the limits of this system do not allow, with the reason: a slope is drawn
/// through the others. They are named on standard error.
fn counts_beyond_limits(
    programs: &Programs,
    cases: &[Case],
) -> BTreeMap<(u32, Option<u64>), String> {
    let mut too_large = BTreeMap::new();
    let mut named: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.section.metric.is_slope()) {
        // A program that is missing or cannot be started is told of when it runs.
        let (Some(count), Ok(program)) = (case.x, programs.of(case)) else { continue };
        let Ok(answer) = probe::ask(program, &case.flags, &case.setting) else { continue };
        if let (Feasibility::TooMuch { .. }, Some(reason)) = (&answer, answer.reason()) {
            let line = named.entry((case.cell.name(), reason.clone())).or_default();
            line.push(count.to_string());
            too_large.insert((case.index, case.x), reason);
        }
    }
    for ((row, reason), counts) in named {
        console::say(format_args!(
            "switchcost: {row} is not run with --tasks {}: {reason}",
            counts.join(", ")
        ));
    }
    too_large
}

/// Records of a short run of a plan, and the new file in this folder that keeps them.
pub(super) fn quick(plan: Plan) -> anyhow::Result<(PathBuf, Vec<Record>)> {
    let store = Store::open(None)?;
    let path = store.path().to_owned();
    let plan = plan.quickened();
    let options = Options::default();
    let rounds = run_plan(&plan, plan.cases(true), store, None, options, Contents::default())?;
    Ok((path, rounds.records().to_vec()))
}

pub(super) fn drawn_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // Short enough to be typed again.
    now.map_or(1, |t| t.as_nanos() as u64 / 1000 % 1_000_000)
}

pub(super) fn distinct<T: Clone + PartialEq>(names: &[T]) -> Vec<T> {
    let mut distinct: Vec<T> = Vec::new();
    for name in names {
        if !distinct.contains(name) {
            distinct.push(name.clone());
        }
    }
    distinct
}

/// Measures what the limits allow of a sweep, and names the rest.
pub(super) fn carry_out(plan: &Sweep, keep: &Keep, budget: Option<Duration>) -> anyhow::Result<()> {
    // The file first: nothing may be built or measured that cannot be kept.
    let store = Store::open(keep.out.as_deref())?;
    let names = plan.programs.iter().map(|line| line.program.as_str());
    let programs = Programs::up_to_date(names, &built_in_tables()?)?;
    let planned = plan.plan(|program, flags| {
        probe::ask(programs.executable(program)?, flags, &Setting::default())
    })?;
    for line in sweep::describe_cuts(&planned.cuts, &plan.over) {
        console::say(format_args!("switchcost: {line}"));
    }
    if planned.cases.is_empty() {
        return Err(nothing_left(&planned.cuts, &plan.over));
    }
    console::say(format_args!("{}{}", planned.describe(), limit_in_words(budget)));
    measure_planned(programs, &planned, store, keep, budget)
}

/// When a measurement ends, behind what it takes.
fn limit_in_words(budget: Option<Duration>) -> String {
    budget.map_or(String::new(), |budget| {
        format!("; none is started after {} (--budget)", format_duration(budget))
    })
}

/// Measures the cases of a plan that a verb has made, and prints all that was found.
pub(super) fn measure_planned(
    programs: Programs,
    planned: &Planned,
    store: Store,
    keep: &Keep,
    budget: Option<Duration>,
) -> anyhow::Result<()> {
    keep.measure.ensure_can_keep(&planned.cases)?;
    let seed = keep.seed.unwrap_or_else(drawn_seed);
    let cut = planned.cuts.iter().flat_map(|cut| &cut.cases);
    let all: Vec<Case> = planned.cases.iter().chain(cut).cloned().collect();
    let mut rounds = Rounds::new(programs, store, seed, keep.measure.options(), &all)?;
    rounds.run_within(planned.cases.clone(), budget)?;
    for cut in &planned.cuts {
        let reason = cut.answer.reason().unwrap_or_default();
        for case in &cut.cases {
            rounds.leave_out(case, &reason)?;
        }
    }
    let records = rounds.records();
    let printed = output::print(records, &[rounds.store().path()], keep.format, true);
    printed.and(rounds.conclude())
}

/// Why a sweep has no point at all: flags that no program takes are bad usage, limits are not.
fn nothing_left(cuts: &[Cut], over: &str) -> anyhow::Error {
    if cuts.iter().all(|cut| cut.lacks(over)) {
        return BadUsage::new(format!("none of the programs has a flag --{over}"));
    }
    let limits = |cut: &Cut| matches!(cut.answer, Feasibility::TooMuch { .. });
    if cuts.iter().any(limits) {
        anyhow::anyhow!("the limits of this system allow no point of this sweep")
    } else {
        BadUsage::new("none of the programs takes these flags")
    }
}
