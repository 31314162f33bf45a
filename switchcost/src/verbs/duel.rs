//! `switchcost duel`: two builds in turns, and what has changed.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use clap::ValueEnum;

use super::args::TextOrJson;
use super::measuring::{Selection, drawn_seed, earlier};
use super::output::json;
use crate::figures::duel::verdict::{Finding, Kind, MARGIN, MIN_PAIRS};
use crate::figures::duel::{Decider, Row};
use crate::figures::number::percent;
use crate::measure::pacing;
use crate::measure::rounds::Rounds;
use crate::measure::store::{Contents, Store};
use crate::measure::turns::Options;
use crate::plan::duel::Lineup;
use crate::plan::side::Side;
use crate::plan::{Case, values};
use crate::render;
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::views::duel::Duel;

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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(MIN_PAIRS as i64..))]
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
    let earlier = args.resume.as_deref().map_or(Ok(Contents::default()), earlier)?;
    let seed = earlier.runs.last().map(|run| run.seed);
    let seed = seed.or(args.seed).unwrap_or_else(drawn_seed);
    let plan = args.selection.plan()?.with_three_counts();
    let mut cases = plan.cases(false);
    args.selection.retain(&mut cases)?;
    let Lineup { cases, left_out, programs, names } =
        Lineup::of(cases, &plan.programs, [&args.first, &args.second])?;
    let rows = cases.iter().map(|case| case.index).collect::<BTreeSet<u32>>().len();
    let margin = args.fail_above.filter(|&limit| limit > 0.0).unwrap_or(MARGIN);
    let store = Store::open_or_dated(args.out.as_deref().or(args.resume.as_deref()), "duel")?;
    let path = store.path().to_owned();
    let all: Vec<Case> =
        cases.iter().chain(left_out.iter().map(|(case, _)| case)).cloned().collect();
    let options = Options { timeout: args.timeout, keep_samples: false, counters: false };
    let mut rounds = Rounds::new(programs, store, seed, options, &all)?
        .between(names, margin)
        .resume(earlier, &all)
        .map_err(|e| BadUsage::new(format!("--resume: {}: {e}", path.display())))?;
    for (case, why) in &left_out {
        rounds.leave_out(case, why)?;
    }
    console::say(format_args!(
        "{rows} rows take turns for {} s, seed {seed}",
        args.budget.as_secs_f64()
    ));
    let mut decider = Decider::new(margin, rows);
    let most = args.pairs.unwrap_or(u32::MAX);
    rounds.run_some(cases, Some(args.budget), &pacing::DUEL, |round, cases, records| {
        if round < most { decider.choose(round, cases, records) } else { Vec::new() }
    })?;
    let duel = Duel::of(rounds.records());
    let printed = console::print(|out| match args.format {
        TextOrJson::Text => render::duel::document(&duel).text(render::layout::width(), out),
        TextOrJson::Json => json(&duel, out),
    });
    if signals::received().is_some() {
        console::say(format_args!(
            "the same options with --resume {} go on from here",
            console::shell_word(&path.to_string_lossy())
        ));
    }
    // It says where the records are even if nothing could be printed.
    let concluded = rounds.conclude_any();
    printed.context("cannot print the result").and(concluded)?;
    if signals::received().is_some() { Ok(()) } else { args.judge(&duel.rows) }
}

impl Args {
    /// The exit status, as an error unless it is 0.
    fn judge(&self, rows: &[Row]) -> anyhow::Result<()> {
        let limit = self.fail_above.unwrap_or(f64::INFINITY);
        let is_worse = |f: &Finding| self.fail_on.includes(f.kind) && f.is_worse_than(limit);
        let is_bad = |row: &&Row| row.has_failed() || row.findings.iter().any(is_worse);
        let bad: Vec<&str> = rows.iter().filter(is_bad).map(|row| &*row.name).collect();
        let bad = bad.join("; ");
        let mut findings = rows.iter().flat_map(|row| &row.findings).peekable();
        ensure!(
            bad.is_empty() || findings.peek().is_some(),
            "no row was measured to its end: {bad}"
        );
        // Counts alone say nothing of the time.
        let is_asked = |kind: Kind| {
            self.fail_on.includes(kind) && !(self.fail_on == Gate::All && kind.is_count())
        };
        if !findings.any(|finding| is_asked(finding.kind) && !finding.is_inconclusive()) {
            return Err(anyhow!(NothingSaid));
        }
        ensure!(
            self.fail_above.is_none() || bad.is_empty(),
            "failed, or worse by more than {}: {bad}",
            percent(limit)
        );
        Ok(())
    }
}
