//! `switchcost duel`: two builds in turns, and what has changed.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use record::Build;

use super::run::{Selection, drawn_seed};
use crate::figures::duel::Decider;
use crate::figures::duel::judge::{self, Finding, Judged, JudgedRow, Kind};
use crate::measure::pacing;
use crate::measure::quiet;
use crate::measure::rounds::Rounds;
use crate::measure::store::{self, Contents, Store};
use crate::measure::turns::Options;
use crate::plan::Case;
use crate::plan::placement;
use crate::plan::programs::Executables;
use crate::plan::side::{self, Side};
use crate::plan::{self, values};
use crate::render;
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::verbs::args::TextOrJson;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Old side; it is measured against itself too, which shows the noise
    #[arg(value_name = "A")]
    first: Side,

    /// New side
    #[arg(value_name = "B")]
    second: Side,

    #[command(flatten)]
    selection: Selection,

    /// Time for all rows together, builds apart
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "60s", value_parser = values::duration)]
    budget: Duration,

    /// Most pairs of a row, one in each round [default: as many as the budget allows]; 8 are enough for counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(judge::MIN_PAIRS as i64..))]
    pairs: Option<u32>,

    /// End with status 1 if the whole interval of a change for the worse lies above this, or a row fails.
    /// 5% and 5 are the same
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = values::percent)]
    fail_above: Option<f64>,

    /// Figures that --fail-above looks at
    #[arg(long, value_enum, default_value_t = Gate::All, requires = "fail_above")]
    fail_on: Gate,

    /// Append the records to this file [default: duel-DATE.jsonl in this folder]
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    out: Option<PathBuf>,

    /// Go on where the duel that wrote this file was stopped; give the same options again
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    resume: Option<PathBuf>,

    /// Draw all orders by this number [default: drawn from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Time that a program may take to answer or to end; then it is ended by SIGTERM, and 10 s later by SIGKILL
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "1m", value_parser = values::time_limit)]
    timeout: Duration,

    /// Output format
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
}

/// Reason why a row has no side.
const NO_CRATE: &str = "its program is no crate of the workspace: `switchcost compare` of two runs";

/// Reason why a row is left out that nothing can have changed.
const SAME: &str = "the same program on both sides";

/// Figures that may fail a duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Gate {
    /// times, memory and counts
    All,
    /// voluntary switches, page faults and resident memory per task: all but times
    Counts,
    /// times
    Times,
}

impl Gate {
    fn includes(self, kind: Kind) -> bool {
        match self {
            Gate::All => true,
            Gate::Counts => kind != Kind::Time,
            Gate::Times => kind == Kind::Time,
        }
    }
}

/// No row has a verdict: status 3.
#[derive(Debug)]
pub(crate) struct NothingSaid;

impl fmt::Display for NothingSaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "nothing can be said: no row has a verdict; repeat it, or give a larger --budget",
        )
    }
}

impl std::error::Error for NothingSaid {}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let earlier = match &args.resume {
        Some(path) => earlier(path)?,
        None => Contents::default(),
    };
    let seed = earlier.runs.last().map(|run| run.seed);
    let seed = seed.or(args.seed).unwrap_or_else(drawn_seed);
    let Sides { cases, left_out, executables, names, build } = args.sides()?;
    let rows: BTreeSet<u32> = cases.iter().map(|case| case.index).collect();
    if rows.is_empty() {
        let why = left_out.first().map_or("the plan is empty", |(_, why)| why);
        bail!("no row can be measured: {why}");
    }
    let store = Store::open_or_dated(args.out.as_deref().or(args.resume.as_deref()), "duel")?;
    let path = store.path().to_owned();
    let all: Vec<Case> =
        cases.iter().chain(left_out.iter().map(|(case, _)| case)).cloned().collect();
    let options = Options { timeout: args.timeout, keep_samples: false, counters: false };
    let mut rounds = Rounds::new((executables, build), store, seed, options, &all)?
        .between(names, args.margin())
        .resume(earlier, &all)
        .map_err(|e| BadUsage::new(format!("--resume: {}: {e}", path.display())))?;
    for (case, why) in &left_out {
        rounds.leave_out(case, why)?;
    }
    console::say(format_args!(
        "{} rows take turns for {} s, seed {seed}",
        rows.len(),
        args.budget.as_secs_f64()
    ));
    let mut decider = Decider::new(args.margin(), rows.len());
    let most = args.pairs.unwrap_or(u32::MAX);
    rounds.run_some(cases, Some(args.budget), &pacing::DUEL, |round, cases, records| {
        if round >= most {
            return Vec::new();
        }
        quiet::settle(records);
        decider.look(records);
        let open = decider.open(cases);
        cases.iter().map(|case| decider.wants(case, round, open)).collect()
    })?;
    let duel = Judged::of(rounds.records());
    let printed = print(&duel, args.format);
    if signals::received().is_some() {
        console::say(format_args!(
            "the same options with --resume {} go on from here",
            path.display()
        ));
    }
    // Where the records are is said also where nothing could be printed.
    let concluded = rounds.conclude_any();
    printed.and(concluded).and_then(|()| args.conclude(&duel.rows))
}

/// What takes part in a duel.
struct Sides {
    cases: Vec<Case>,
    left_out: Vec<(Case, String)>,
    executables: Executables,
    names: [String; 2],
    build: Build,
}

/// The records of a duel that is to go on.
fn earlier(path: &Path) -> anyhow::Result<Contents> {
    let contents = store::read_any(path)?;
    store::tell(path, &contents);
    let is_duel = contents.runs.iter().all(|run| run.sides.is_some());
    if !is_duel {
        let what =
            format!("--resume: {} is no duel's: `run --resume` goes on with it", path.display());
        return Err(BadUsage::new(what));
    }
    Ok(contents)
}

/// Prints a duel's verdicts.
pub(super) fn print(duel: &Judged, format: TextOrJson) -> anyhow::Result<()> {
    console::print(|out| match format {
        TextOrJson::Text => render::duel::text(duel, out),
        TextOrJson::Json => {
            serde_json::to_writer(&mut *out, duel)?;
            writeln!(out)
        }
    })
    .context("cannot print the result")
}

impl Args {
    /// Largest change that counts as none.
    fn margin(&self) -> f64 {
        self.fail_above.filter(|&limit| limit > 0.0).unwrap_or(judge::MARGIN)
    }

    /// Cases that are to be measured, those that cannot be, and the programs of both sides.
    fn sides(&self) -> anyhow::Result<Sides> {
        let plan = self.selection.plan()?;
        let mut cases = plan.cases(false);
        self.selection.retain(&mut cases)?;
        plan::duel::thin_out(&mut cases);
        let (cases, absent) = placement::place(cases)?;
        let mut left_out = absent;
        let mut wanted: Vec<Case> = Vec::new();
        for case in cases.into_iter().filter(|case| !case.twin) {
            let is_slope = case.section.metric.is_slope();
            let is_same = |other: &Case| {
                is_slope == other.section.metric.is_slope()
                    && (&other.program, &other.flags, other.pin, &other.setting)
                        == (&case.program, &case.flags, case.pin, &case.setting)
            };
            if plan.programs.contains_key(&case.program) {
                left_out.push((case, NO_CRATE.to_owned()));
            } else if !wanted.iter().any(is_same) {
                // Another table may show the same processes.
                wanted.push(case);
            }
        }
        let programs: BTreeSet<&str> = wanted.iter().map(|case| case.program.as_str()).collect();
        let mut executables = Executables::default();
        let mut same: BTreeSet<String> = BTreeSet::new();
        let mut names = [&self.first, &self.second].map(ToString::to_string);
        let mut build = observe::build::current();
        if !programs.is_empty() {
            let built = side::programs([&self.first, &self.second], &programs)?;
            for ((side, name), programs_of) in
                [record::Side::A, record::Side::B].into_iter().zip(&mut names).zip(&built)
            {
                *name = programs_of.name();
                for program in &programs {
                    let found = programs_of.executable(program);
                    executables.0.insert((Some(side), (*program).to_owned()), found);
                }
            }
            build = Build { git_revision: None, dirty: None, ..build };
            for &program in &programs {
                let sameness = side::sameness([&built[0], &built[1]], program);
                if sameness.with_context(|| format!("cannot read {program}"))?.is_some() {
                    same.insert(program.to_owned());
                }
            }
        }
        let found = |case: &Case, side| {
            let key = (Some(side), case.program.clone());
            executables.0.get(&key).and_then(|found| found.as_ref().err().cloned())
        };
        wanted.retain(|case| {
            let missing = found(case, record::Side::A).or_else(|| found(case, record::Side::B));
            left_out.extend(missing.iter().map(|why| (case.clone(), why.clone())));
            missing.is_none()
        });
        retain_what_can_differ(&mut wanted, &mut left_out, &same);
        let left_out = left_out
            .into_iter()
            .map(|(case, why)| (Case { side: Some(record::Side::A), ..case }, why));
        Ok(Sides {
            cases: plan::duel::sides(wanted),
            left_out: one_a_row(left_out.collect()),
            executables,
            names,
            build,
        })
    }

    /// The exit status, as an error where it is not 0.
    fn conclude(&self, rows: &[JudgedRow]) -> anyhow::Result<()> {
        if signals::received().is_some() {
            return Ok(());
        }
        let names = |rows: Vec<&JudgedRow>| -> Vec<String> {
            rows.into_iter().map(|judged| judged.row.name.clone()).collect()
        };
        let has_failed =
            |judged: &&JudgedRow| matches!(judged.row.fault, Some(judge::Fault::Failed(_)));
        let failed = names(rows.iter().filter(has_failed).collect());
        // Counts alone say nothing of the time.
        let is_wanted = |f: &&Finding| match self.fail_on {
            Gate::All => !f.kind.is_count(),
            _ => self.fail_on.includes(f.kind),
        };
        let mut findings = rows.iter().flat_map(|judged| &judged.findings);
        if rows.iter().all(|judged| judged.findings.is_empty()) && !failed.is_empty() {
            bail!("no row was measured to its end: {}", failed.join("; "));
        }
        if !findings.any(|f| is_wanted(&f) && !f.is_inconclusive()) {
            return Err(anyhow!(NothingSaid));
        }
        let Some(limit) = self.fail_above else {
            return Ok(());
        };
        let is_worse = |judged: &&JudgedRow| {
            let mut gated = judged.findings.iter().filter(|f| self.fail_on.includes(f.kind));
            gated.any(|finding| finding.is_worse_than(limit))
        };
        let worse = names(rows.iter().filter(is_worse).collect());
        let worse: Vec<String> = worse.into_iter().chain(failed).collect();
        if worse.is_empty() {
            return Ok(());
        }
        bail!("failed, or worse by more than {} %: {}", limit * 100.0, worse.join("; "))
    }
}

/// Leaves out the rows whose program is the same on both sides, but for one that shows the noise. If no program
/// differs, all rows stay: then the duel is of the machine.
fn retain_what_can_differ(
    wanted: &mut Vec<Case>,
    left_out: &mut Vec<(Case, String)>,
    same: &BTreeSet<String>,
) {
    if wanted.iter().all(|case| same.contains(&case.program)) {
        return;
    }
    let is_control = |case: &Case| same.contains(&case.program) && case.pin && !case.is_alone();
    let control = wanted.iter().find(|case| is_control(case)).map(|case| case.index);
    wanted.retain(|case| {
        let stays = !same.contains(&case.program) || Some(case.index) == control;
        if !stays {
            left_out.push((case.clone(), SAME.to_owned()));
        }
        stays
    });
}

/// One case of each row: a slope is one, however many task counts it has.
fn one_a_row(cases: Vec<(Case, String)>) -> Vec<(Case, String)> {
    let mut seen = BTreeSet::new();
    cases.into_iter().filter(|(case, _)| seen.insert(case.index)).collect()
}
