//! The rows of a plan that this machine can run, from the check of its limits to the records.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use contract::message::Description;
use record::{Record, Row};

use super::rounds::Rounds;
use super::store::Store;
use super::turns::Options;
use super::{begin, pacing, probe};
use crate::plan::Plan;
use crate::plan::lineup::Lineup;
use crate::plan::placement;
use crate::plan::programs::Programs;
use crate::plan::refusal::Refusal;
use crate::system::console::{self, BadUsage};

/// Fewest timed iterations per process, if their number follows from the hops.
const FEWEST_ITERATIONS: u64 = 3;

/// Flag for the number of tasks: the runner asks for as many as the limits allow.
const TASKS: &str = "--tasks";

/// Share of the free memory that the largest point of a curve over tasks may use.
const SHARE_OF_MEMORY: f64 = 0.95;

/// Gives rows their CPUs, and finds out which of them this machine cannot run; points of curves that are too large are
/// named on standard error. If a limit ends a curve over tasks, the largest possible number becomes a point.
///
/// # Errors
/// When a section varies a flag that none of its programs takes.
pub fn lineup(programs: Programs, mut rows: Vec<Row>) -> anyhow::Result<Lineup> {
    let absent = placement::place_rows(&mut rows)?;
    let mut lineup = Lineup { absent, programs, ..Lineup::default() };
    let mut varied = BTreeMap::new();
    let mut told: Vec<String> = Vec::new();
    for curve in rows.chunk_by(|row, next| row.place.cell() == next.place.cell()) {
        if curve[0].place.x.is_none() || lineup.absent.contains_key(&curve[0].place) {
            lineup.rows.extend_from_slice(curve);
            continue;
        }
        for line in add_curve(&mut lineup, curve, &mut varied) {
            if !told.contains(&line) {
                console::say(format_args!("switchcost: {line}"));
                told.push(line);
            }
        }
    }
    if let Some(([section, flag], _)) = varied.iter().find(|(_, is_taken)| !**is_taken) {
        return Err(BadUsage::new(format!(
            "section '{section}': none of its programs has the flag {flag}: see their --help"
        )));
    }
    Ok(lineup)
}

/// Asks the program of a row; `None` if it is missing or cannot be started, which is reported when it runs.
fn ask(programs: &Programs, row: &Row) -> Option<Result<Description, Refusal>> {
    match probe::ask(programs.of_row(row).ok()?, &row.command.flags, &row.command.setting) {
        Ok(description) => Some(Ok(description)),
        Err(e) => e.downcast().ok().map(Err),
    }
}

/// Adds the points of a curve or a slope, and finds out which fit; returns a line per reason why others do not. `varied`
/// has the flags that sections vary, and whether any of their programs takes it.
fn add_curve(
    lineup: &mut Lineup,
    curve: &[Row],
    varied: &mut BTreeMap<[String; 2], bool>,
) -> Vec<String> {
    let mut cuts: Vec<(Refusal, Vec<Row>)> = Vec::new();
    let mut last = None;
    for row in curve {
        let answer = ask(&lineup.programs, row);
        if let Some(swept) = &row.swept {
            let flag = [row.place.section.clone(), swept.flag.clone()];
            // Programs in Go name it with one dash.
            let lacks_it = match &answer {
                Some(Err(Refusal::NoFlag(unknown))) => {
                    unknown.trim_start_matches('-') == swept.flag.trim_start_matches('-')
                }
                _ => false,
            };
            *varied.entry(flag).or_default() |= !lacks_it;
        }
        match answer {
            Some(Ok(description)) => {
                lineup.rows.push(sized(row.clone(), &description));
                last = row.place.x;
            }
            // What a program refuses fails when it runs; of a curve it is not run.
            Some(Err(refusal))
                if row.swept.is_some() || matches!(refusal, Refusal::TooMuch { .. }) =>
            {
                match cuts.iter_mut().find(|(other, _)| other.alike(&refusal)) {
                    Some((_, rows)) => rows.push(row.clone()),
                    None => cuts.push((refusal, vec![row.clone()])),
                }
            }
            _ => lineup.rows.push(row.clone()),
        }
    }
    if let Some((Refusal::TooMuch { largest, memory, .. }, rows)) = cuts.first()
        && rows[0].swept.as_ref().is_some_and(|swept| swept.flag == TASKS)
    {
        let mut row = rows[0].clone();
        let tasks = most_tasks(*largest, *memory);
        row.place.x = Some(tasks);
        if let Some(value) = row.command.flags.last_mut() {
            *value = tasks.to_string();
        }
        if curve[0].place.x <= row.place.x
            && last < row.place.x
            && let Some(Ok(description)) = ask(&lineup.programs, &row)
        {
            lineup.rows.push(sized(row, &description));
        }
    }
    let lines = cuts.iter().map(|(refusal, rows)| describe_cut(refusal, rows)).collect();
    for (refusal, rows) in cuts {
        let places = rows.iter().map(|row| (row.place.clone(), refusal.to_string()));
        lineup.absent.extend(places);
        lineup.rows.extend(rows);
    }
    lines
}

/// A row with the iterations that follow from its hops: they depend only on the point, never on what was measured.
fn sized(mut row: Row, description: &Description) -> Row {
    let Description { tasks, hops, .. } = *description;
    let effort = &mut row.effort;
    if let Some(all) = effort.hops {
        effort.iters = all.div_ceil(hops.unwrap_or(tasks).max(1)).max(FEWEST_ITERATIONS);
        effort.warmup = effort.iters.div_ceil(10);
    }
    row
}

/// Measures the rows of a plan, for the plan's budget or, if there is a limit, as far as that allows.
pub fn run(
    lineup: Lineup,
    plan: &Plan,
    seed: Option<u64>,
    store: Store,
    options: Options,
    limit: Option<Duration>,
) -> anyhow::Result<Rounds> {
    let mut header = begin::header(seed, &lineup);
    header.question.clone_from(&plan.question);
    header.notes.extend(plan.note());
    let mut rounds = Rounds::new(lineup, store, options, header)?;
    let aim = limit.is_none().then_some(&pacing::PLAN);
    rounds.run(limit.or(plan.budget), aim, |_, rows, _| vec![true; rows.len()])?;
    Ok(rounds)
}

/// Says which points of a curve are left out, and why.
fn describe_cut(refusal: &Refusal, rows: &[Row]) -> String {
    let Row { place, command, .. } = &rows[0];
    let points: Vec<String> =
        rows.iter().filter_map(|row| Some(row.place.x?.to_string())).collect();
    let at = match (refusal, command.flags.iter().nth_back(1)) {
        (Refusal::NoFlag(_), _) | (_, None) => String::new(),
        (_, Some(flag)) => format!(" at {flag} {}", points.join(", ")),
    };
    format!("{} is not run{at}: {refusal}", place.row)
}

/// Most tasks to try if the limits allow `largest`: meanwhile other programs need some of the room.
fn most_tasks(largest: u64, of_memory: bool) -> u64 {
    if of_memory {
        return (largest as f64 * SHARE_OF_MEMORY) as u64;
    }
    largest.saturating_sub(1 + largest / 1000)
}

/// Runs a plan at once; returns its records and the new file in this folder that keeps them.
pub fn run_here(plan: &Plan) -> anyhow::Result<(PathBuf, Vec<Record>)> {
    let store = Store::open(None, "switchcost").map_err(|e| {
        anyhow::anyhow!(
            "cannot write results into this folder ({}): go to a folder that you may write to",
            e.root_cause()
        )
    })?;
    let path = store.path.clone();
    let rows = plan.rows();
    let names = rows.iter().map(|row| row.command.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    let lineup = lineup(programs, rows)?;
    let rounds = run(lineup, plan, None, store, Options::default(), None)?;
    Ok((path, rounds.records))
}
