//! `switchcost duel`: two builds in turns, and what has changed.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::iter;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use serde::Serialize;

use super::run::{Selection, drawn_seed};
use crate::args::{self, TextOrJson};
use crate::console::{self, plain_line};
use crate::duel::judge::{self, CONFIDENCE, Finding, Kind, Row};
use crate::duel::side::{self, Side};
use crate::duel::{self, Forecast, LiveRow, Options};
use crate::lock::Turn;
use crate::placement;
use crate::plan::Case;
use crate::{progress, render, signals};

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
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "60s", value_parser = args::duration)]
    budget: Duration,

    /// Most pairs of a row [default: as many as the budget allows]; 8 are enough for counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(judge::MIN_PAIRS as i64..))]
    pairs: Option<u32>,

    /// End with status 1 if the whole interval of a change for the worse lies above this, or a row fails.
    /// 5% and 5 are the same
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = args::percent)]
    fail_above: Option<f64>,

    /// Figures that --fail-above looks at
    #[arg(long, value_enum, default_value_t = Gate::All, requires = "fail_above")]
    fail_on: Gate,

    /// Draw all orders by this number [default: drawn from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Time after which a process is ended by SIGTERM, and 10 s later by SIGKILL
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "1m", value_parser = args::time_limit)]
    timeout: Duration,

    /// Output format
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
}

/// Reason why a row has no side.
const NO_CRATE: &str = "its program is no crate of the workspace: `switchcost compare` of two runs";

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

/// The answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    sides: [String; 2],
    seed: u64,
    confidence: f64,
    rows: Vec<JudgedRow<'a>>,
}

#[derive(Serialize)]
struct JudgedRow<'a> {
    #[serde(flatten)]
    row: &'a Row,
    findings: &'a [Finding],
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
    let (mut live_rows, left_out) = args.live_rows()?;
    if live_rows.is_empty() {
        let why = left_out.first().and_then(|row| match &row.fault {
            Some(judge::Fault::LeftOut(why)) => Some(why.as_str()),
            _ => None,
        });
        bail!("no row can be measured: {}", why.unwrap_or("the plan is empty"));
    }
    let options = Options {
        budget: args.budget,
        most: args.pairs.map_or(usize::MAX, |pairs| pairs as usize),
        timeout: args.timeout,
        seed: args.seed.unwrap_or_else(drawn_seed),
    };
    signals::install()?;
    let _turn = Turn::take();
    let begun = Instant::now();
    console::say(format_args!(
        "{} rows, {} s, seed {}; a first pair of each ...",
        live_rows.len(),
        args.budget.as_secs_f64(),
        options.seed
    ));
    tell(&duel::begin(&mut live_rows, &options));
    let is_terminal = io::stderr().is_terminal();
    duel::measure(&mut live_rows, &options, begun, |row| {
        if is_terminal {
            let left = options.budget.saturating_sub(begun.elapsed());
            progress::draw(&format!("{} s left: {row}", left.as_secs()));
        }
    });
    if is_terminal {
        progress::draw("");
    }
    let mut rows: Vec<Row> = live_rows.into_iter().map(LiveRow::into_row).collect();
    rows.extend(left_out);
    let findings = judge::judge(&rows);
    args.print(&rows, &findings, options.seed)?;
    args.conclude(&rows, &findings)
}

/// Adds a row that is left out. A slope is one, however many task counts it has.
fn leave_out(rows: &mut Vec<Row>, case: &Case, why: String) {
    let row = duel::row(case, Some(why));
    let is_its = |other: &Row| (&other.section, &other.name) == (&row.section, &row.name);
    if !rows.iter().any(is_its) {
        rows.push(row);
    }
}

impl Args {
    /// Rows that are to be measured, and those that cannot be.
    fn live_rows(&self) -> anyhow::Result<(Vec<LiveRow>, Vec<Row>)> {
        let plan = self.selection.plan()?;
        let mut cases = plan.cases(false);
        self.selection.retain(&mut cases)?;
        let (cases, absent) = placement::place(cases)?;
        let mut left_out: Vec<Row> = Vec::new();
        for (case, why) in absent {
            leave_out(&mut left_out, &case, why);
        }
        let mut wanted: Vec<Case> = Vec::new();
        for case in cases {
            let is_slope = case.section.metric.is_slope();
            let is_same = |other: &Case| {
                is_slope == other.section.metric.is_slope()
                    && (&other.program, &other.flags, other.pin, &other.setting)
                        == (&case.program, &case.flags, case.pin, &case.setting)
            };
            if !plan.programs.contains_key(&case.program) {
                // Another table may show the same processes.
                if !wanted.iter().any(is_same) {
                    wanted.push(case);
                }
                continue;
            }
            leave_out(&mut left_out, &case, NO_CRATE.to_owned());
        }
        let programs: BTreeSet<&str> = wanted.iter().map(|case| case.program.as_str()).collect();
        if programs.is_empty() {
            return Ok((Vec::new(), left_out));
        }
        let [first, second] = side::programs([&self.first, &self.second], &programs)?;
        let mut live_rows = Vec::new();
        let mut wanted = wanted.into_iter().peekable();
        while let Some(case) = wanted.next() {
            let is_other = |other: &Case| {
                case.section.metric.is_slope()
                    && (&other.section, &other.cell) == (&case.section, &case.cell)
            };
            let others = iter::from_fn(|| wanted.next_if(is_other)).collect();
            let found = first.executable(&case.program);
            match found.and_then(|a| Ok([a, second.executable(&case.program)?])) {
                Ok(programs) => live_rows.push(LiveRow::new(case, others, programs)),
                Err(why) => left_out.push(duel::row(&case, Some(why))),
            }
        }
        Ok((live_rows, left_out))
    }

    fn print(&self, rows: &[Row], findings: &[Vec<Finding>], seed: u64) -> anyhow::Result<()> {
        let sides = [&self.first, &self.second].map(ToString::to_string);
        console::print(|out| match self.format {
            TextOrJson::Text => {
                let [a, b] = sides.each_ref().map(|side| plain_line(side));
                writeln!(out, "A: {a}\nB: {b}")?;
                writeln!(
                    out,
                    "intervals of {} % for all rows together (Holm)\n",
                    CONFIDENCE * 100.0
                )?;
                render::duel::text(rows, findings, out)
            }
            TextOrJson::Json => {
                let rows = rows
                    .iter()
                    .zip(findings)
                    .map(|(row, findings)| JudgedRow { row, findings })
                    .collect();
                let report = Report { sides, seed, confidence: CONFIDENCE, rows };
                serde_json::to_writer(&mut *out, &report)?;
                writeln!(out)
            }
        })
        .context("cannot print the result")
    }

    /// The exit status, as an error where it is not 0.
    fn conclude(&self, rows: &[Row], findings: &[Vec<Finding>]) -> anyhow::Result<()> {
        if signals::received().is_some() {
            return Ok(());
        }
        let failed: Vec<&str> = rows
            .iter()
            .filter(|row| matches!(row.fault, Some(judge::Fault::Failed(_))))
            .map(|row| row.name.as_str())
            .collect();
        // Counts alone say nothing of the time.
        let is_wanted = |f: &&Finding| match self.fail_on {
            Gate::All => !f.kind.is_count(),
            _ => self.fail_on.includes(f.kind),
        };
        let is_said = findings.iter().flatten().filter(is_wanted).any(|f| !f.is_inconclusive());
        if findings.iter().all(Vec::is_empty) && !failed.is_empty() {
            bail!("no row was measured to its end: {}", failed.join("; "));
        }
        if !is_said {
            return Err(anyhow!(NothingSaid));
        }
        let Some(limit) = self.fail_above else {
            return Ok(());
        };
        let is_gated = |finding: &&Finding| self.fail_on.includes(finding.kind);
        let is_worse = |findings: &Vec<Finding>| {
            findings.iter().filter(is_gated).any(|finding| finding.is_worse_than(limit))
        };
        let worse = rows.iter().zip(findings).filter(|(_, findings)| is_worse(findings));
        let worse: Vec<&str> = worse.map(|(row, _)| row.name.as_str()).chain(failed).collect();
        match worse.is_empty() {
            true => Ok(()),
            false => {
                bail!("failed, or worse by more than {} %: {}", limit * 100.0, worse.join("; "))
            }
        }
    }
}

/// Says what each row will be able to show.
fn tell(forecasts: &[Forecast]) {
    for Forecast { name, pairs, change } in forecasts {
        let change = change.map_or("?".to_owned(), |change| format!("{:.1} %", change * 100.0));
        console::say(format_args!("  changes from about {change:>7} on, {pairs:>3} pairs: {name}"));
    }
}
