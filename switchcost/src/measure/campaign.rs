//! A campaign: the rows of a plan that this machine can run, from the check of its limits to the records.

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
use crate::plan::placement::{self, Absent};
use crate::plan::programs::Programs;
use crate::plan::refusal::Refusal;
use crate::system::console::{self, BadUsage};

/// Fewest timed iterations per process, if their number follows from the hops.
const FEWEST_ITERATIONS: u64 = 3;

/// Flag for the number of tasks: the runner asks for as many as the limits allow.
const TASKS: &str = "--tasks";

/// Share of the free memory that the largest point of a curve over tasks may use.
const SHARE_OF_MEMORY: f64 = 0.95;

/// The rows of a plan on this machine.
#[derive(Debug, Default)]
pub struct Campaign {
    programs: Programs,
    /// Its rows in the plan's order.
    rows: Vec<Row>,
    /// Those among them that cannot be measured.
    absent: Absent,
    /// True if points of curves are absent since the limits do not allow them.
    pub is_limited: bool,
    /// Flags that sections vary, and whether any of their programs takes it.
    varied: BTreeMap<[String; 2], bool>,
}

impl Campaign {
    /// Gives rows their CPUs, and finds out which of them this machine cannot run; points of curves that are too large are
    /// named on standard error. If a limit ends a curve over tasks, the largest possible number becomes a point.
    ///
    /// # Errors
    /// When a section varies a flag that none of its programs takes.
    pub fn of(programs: Programs, mut rows: Vec<Row>) -> anyhow::Result<Self> {
        let absent = placement::place_rows(&mut rows)?;
        // A program that is missing or cannot be started is reported when it runs.
        let ask = |row: &Row| {
            let command = &row.command;
            match probe::ask(programs.of(row).ok()?, &command.flags, &command.setting) {
                Ok(description) => Some(Ok(description)),
                Err(e) => e.downcast().ok().map(Err),
            }
        };
        let mut campaign = Campaign { absent, ..Campaign::default() };
        let mut told: Vec<String> = Vec::new();
        for curve in rows.chunk_by(|one, other| one.place.cell() == other.place.cell()) {
            if curve[0].place.x.is_none() || campaign.absent.contains_key(&curve[0].place) {
                campaign.rows.extend_from_slice(curve);
                continue;
            }
            for line in campaign.add_curve(curve, ask) {
                if !told.contains(&line) {
                    console::say(format_args!("switchcost: {line}"));
                    told.push(line);
                }
            }
        }
        if let Some(([section, flag], _)) = campaign.varied.iter().find(|(_, is_taken)| !**is_taken)
        {
            let what = format!(
                "section '{section}': none of its programs has the flag {flag}: see their --help"
            );
            return Err(BadUsage::new(what));
        }
        Ok(Campaign { programs, ..campaign })
    }

    /// Adds the points of a curve or a slope, and finds out which fit; returns a line per reason why others do not.
    fn add_curve(
        &mut self,
        curve: &[Row],
        ask: impl Fn(&Row) -> Option<Result<Description, Refusal>>,
    ) -> Vec<String> {
        let mut cuts: Vec<(Refusal, Vec<Row>)> = Vec::new();
        let mut last = None;
        for row in curve {
            let answer = ask(row);
            if let Some(swept) = &row.swept {
                let varied = [row.place.section.clone(), swept.flag.clone()];
                *self.varied.entry(varied).or_default() |=
                    !matches!(answer, Some(Err(Refusal::NoFlag(_))));
            }
            match answer {
                Some(Ok(description)) => {
                    self.add(row.clone(), &description);
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
                _ => self.rows.push(row.clone()),
            }
        }
        if let Some((Refusal::TooMuch { largest, memory, .. }, rows)) = cuts.first()
            && rows[0].swept.as_ref().is_some_and(|swept| swept.flag == TASKS)
        {
            let mut row = rows[0].clone();
            let most = most_tasks(*largest, *memory);
            row.place.x = Some(most);
            if let Some(value) = row.command.flags.last_mut() {
                *value = most.to_string();
            }
            if curve[0].place.x <= row.place.x
                && last < row.place.x
                && let Some(Ok(description)) = ask(&row)
            {
                self.add(row, &description);
            }
        }
        let lines = cuts.iter().map(|(refusal, rows)| describe_cut(refusal, rows)).collect();
        for (refusal, rows) in cuts {
            let reason = refusal.to_string();
            self.absent.extend(rows.iter().map(|row| (row.place.clone(), reason.clone())));
            self.rows.extend(rows);
            self.is_limited |= matches!(refusal, Refusal::TooMuch { .. });
        }
        lines
    }

    /// Rows that can be measured.
    pub fn measured(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !self.absent.contains_key(&row.place))
    }

    /// Adds a row that is so described.
    fn add(&mut self, mut row: Row, description: &Description) {
        let Description { tasks, hops, .. } = *description;
        let effort = &mut row.effort;
        if let Some(all) = effort.hops {
            // It depends only on the point, never on what was measured.
            effort.iters = all.div_ceil(hops.unwrap_or(tasks).max(1)).max(FEWEST_ITERATIONS);
            effort.warmup = effort.iters.div_ceil(10);
        }
        self.rows.push(row);
    }

    /// Measures the rows, for the plan's budget or, if there is a limit, as far as that allows.
    pub fn run(
        self,
        plan: &Plan,
        seed: Option<u64>,
        store: Store,
        options: Options,
        limit: Option<Duration>,
    ) -> anyhow::Result<Rounds> {
        let mut header = begin::header(seed, self.programs.build(), self.rows);
        header.question.clone_from(&plan.question);
        header.notes.extend(plan.note());
        let mut rounds = Rounds::new(self.programs, store, options, header, &self.absent)?;
        let aim = limit.is_none().then_some(&pacing::PLAN);
        rounds.run(limit.or(plan.budget), aim, |_, rows, _| vec![true; rows.len()])?;
        Ok(rounds)
    }
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
    let campaign = Campaign::of(programs, rows)?;
    let rounds = campaign.run(plan, None, store, Options::default(), None)?;
    Ok((path, rounds.records))
}
