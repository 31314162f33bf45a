//! `switchcost memory`: what a task holds in memory, and how many of them would fit.

use std::io::Write;

use crate::console::{self, BadUsage};
use anyhow::{Context, bail};
use contract::units::Bytes;
use observe::limits::{Limits, Resource};
use record::Record;
use serde::Serialize;

use super::report::{self, Format};
use super::run::{Keep, drawn_seed};
use crate::analysis::{self, Analysis, Cell};
use crate::fits::{self, Outlook};
use crate::plan::{COUNTS_OF_A_SLOPE, Plan, Row};
use crate::probe::Answer;
use crate::programs::Programs;
use crate::range::{Range, Spacing};
use crate::render;
use crate::rounds::Rounds;
use crate::store::Store;

/// Measures what threads and async tasks hold in memory, at rest: user and kernel memory as slopes
/// over the number of tasks, and what it would take to hold many of them on this machine
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The smallest number of tasks [default: 200 to 5000, by kind]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    from: Option<u32>,

    /// The largest number of tasks [default: 2000 to 50000, by kind]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    to: Option<u32>,

    /// How often each number of tasks is measured, each time in a fresh process
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    keep: Keep,
}

/// The numbers of tasks that people ask for.
const ASKED_FOR: [u64; 3] = [10_000, 100_000, 1_000_000];

/// The answer for programs: that of `report`, and what would fit.
#[derive(Serialize)]
struct Answers<'a> {
    #[serde(flatten)]
    analysis: &'a Analysis,
    outlook: &'a [Outlook],
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let mut plan = Plan::memory()?;
    for row in plan.sections.iter_mut().flat_map(|s| &mut s.rows) {
        row.tasks = args.counts(row)?;
    }
    let seed = args.keep.seed.unwrap_or_else(drawn_seed);
    let rows = plan.sections.iter().flat_map(|s| &s.rows);
    let programs = Programs::up_to_date(rows.map(|row| row.program.as_str()), &plan.programs)?;
    for section in &mut plan.sections {
        let mut kept = Vec::new();
        for row in section.rows.drain(..) {
            match programs.missing(&row.program) {
                Some(why) => console::say(format_args!("switchcost: {}: {why}", row.name)),
                None => kept.extend(within_limits(row, &programs)?),
            }
        }
        section.rows = kept;
    }
    let mut cases = plan.cases(false);
    if cases.is_empty() {
        bail!("the limits of this system leave too few task counts for any slope");
    }
    for case in &mut cases {
        case.rounds = args.rounds;
    }
    let store = Store::open(args.keep.out.as_deref())?;
    let options = args.keep.measure.options();
    let mut rounds = Rounds::new(programs.clone(), store, seed, options, &cases)?;
    rounds.await_turn();
    rounds.run(&cases)?;
    let records = rounds.records();
    rounds.ensure_any()?;
    let analysis = analysis::analyse(records);
    let room = room();
    let room_bytes = room.as_ref().map(|(room, _)| *room);
    let outlook = outlook(&analysis, &plan, &programs, room_bytes)?;
    print(args.keep.format, &analysis, records, &outlook, room)?;
    rounds.conclude()
}

impl Args {
    /// The numbers of tasks of a row: the plan's, or as many between other ends.
    fn counts(&self, row: &Row) -> anyhow::Result<Vec<u32>> {
        if self.from.is_none() && self.to.is_none() {
            return Ok(row.tasks.clone());
        }
        let ends = (row.tasks.iter().min(), row.tasks.iter().max());
        let (Some(&least), Some(&most)) = ends else {
            return Ok(Vec::new());
        };
        // Where one end is given, the other keeps its distance.
        let ratio = (most / least.max(1)).max(2);
        let from = self.from.or(self.to.map(|to| (to / ratio).max(1)));
        let from = from.unwrap_or(least);
        let to = self.to.unwrap_or(from.saturating_mul(ratio));
        let fault = |why: String| BadUsage::new(format!("--from, --to: {why}"));
        let range = Range::new(from.into(), to.into()).map_err(fault)?;
        counts(range).ok_or_else(|| {
            fault(format!(
                "{range} has fewer than the {COUNTS_OF_A_SLOPE} task counts that a slope needs"
            ))
        })
    }
}

/// As many numbers as a slope needs; `None` where a range has fewer.
fn counts(range: Range) -> Option<Vec<u32>> {
    let points = range.points(COUNTS_OF_A_SLOPE as u32, Spacing::Linear);
    let counts: Vec<u32> = points.into_iter().filter_map(|p| u32::try_from(p).ok()).collect();
    (counts.len() >= COUNTS_OF_A_SLOPE).then_some(counts)
}

/// The row with the task counts that the limits allow, as many as before; `None`, and a line on
/// standard error, where they allow too few.
fn within_limits(mut row: Row, programs: &Programs) -> anyhow::Result<Option<Row>> {
    let (Some(&least), Some(&most)) = (row.tasks.iter().min(), row.tasks.iter().max()) else {
        return Ok(None);
    };
    let answer = ask(&row, most.into(), programs)?;
    let Some(reason) = answer.reason() else {
        return Ok(Some(row));
    };
    let fewer = match answer {
        Answer::TooMuch { largest, .. } => Range::new(least.into(), most.into())
            .ok()
            .and_then(|range| range.up_to(largest))
            .and_then(counts),
        _ => None,
    };
    match fewer {
        Some(counts) => {
            let most = counts.last().copied().unwrap_or(0);
            console::say(format_args!("switchcost: {} goes to {most} tasks: {reason}", row.name));
            row.tasks = counts;
            Ok(Some(row))
        }
        None => {
            console::say(format_args!("switchcost: {} is not run: {reason}", row.name));
            Ok(None)
        }
    }
}

fn ask(row: &Row, tasks: u64, programs: &Programs) -> anyhow::Result<Answer> {
    let mut flags = row.flags.clone();
    flags.extend(["--tasks".to_owned(), tasks.to_string()]);
    programs.ask(&row.program, &flags)
}

/// How much more memory may be used, and what bounds it.
fn room() -> Option<(u64, String)> {
    let limits = Limits::read();
    let memory = limits.statuses().iter().filter(|l| l.resource == Resource::Memory);
    memory.filter_map(|limit| Some((limit.room?, limit.name.clone()))).min()
}

/// Every kind of task in every number that people ask for.
fn outlook(
    analysis: &Analysis,
    plan: &Plan,
    programs: &Programs,
    room: Option<u64>,
) -> anyhow::Result<Vec<Outlook>> {
    let mut all = Vec::new();
    for row in plan.sections.iter().flat_map(|s| &s.rows) {
        let of_row = |t: &analysis::Table| t.rows.iter().find(|r| r.name == row.name).cloned();
        let cells = analysis.tables.iter().find_map(of_row).map(|r| r.cells);
        let slopes = cells.iter().flatten().find_map(|cell| match cell {
            Cell::Memory(slopes) => Some(slopes),
            _ => None,
        });
        for tasks in ASKED_FOR {
            let bytes = slopes
                .filter(|slopes| !slopes.void())
                .and_then(|slopes| Some(slopes.all.as_ref()?.at(tasks)));
            let answer = ask(row, tasks, programs)?;
            all.push(Outlook {
                name: row.name.clone(),
                tasks,
                bytes,
                verdict: fits::verdict(bytes, room, &answer),
            });
        }
    }
    Ok(all)
}

fn print(
    format: Format,
    analysis: &Analysis,
    records: &[Record],
    outlook: &[Outlook],
    room: Option<(u64, String)>,
) -> anyhow::Result<()> {
    if format == Format::Json {
        let answers = Answers { analysis, outlook };
        return console::print(|out| {
            serde_json::to_writer(&mut *out, &answers)?;
            writeln!(out)
        })
        .context("cannot print the result");
    }
    report::print(analysis, records, format, true)?;
    let total = records.iter().find_map(|r| r.machine().memory_total_bytes);
    let room = room.map(|(room, name)| match total {
        Some(total) => (room, format!("{name}, of {} in all", Bytes(total))),
        None => (room, name),
    });
    let room = room.as_ref().map(|(room, name)| (*room, name.as_str()));
    console::print(|out| {
        render::memory::write_outlook(outlook, room, format == Format::Markdown, out)
    })
    .context("cannot print the result")
}
