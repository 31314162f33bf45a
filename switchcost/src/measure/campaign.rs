//! A campaign: the cases of a plan that this machine can run, from the check of its limits to the records.

use std::path::PathBuf;

use contract::message::Description;
use contract::units::{Bytes, counted};
use record::Record;

use super::deadline::Time;
use super::rounds::{Keep, Rounds};
use super::store::Store;
use super::turns::Options;
use super::{pacing, probe};
use crate::plan::feasibility::Feasibility;
use crate::plan::placement::{self, Absent};
use crate::plan::programs::Programs;
use crate::plan::{Case, Plan};
use crate::system::console;

/// Fewest timed iterations per process, if their number follows from the hops.
const FEWEST_ITERATIONS: u64 = 3;

/// Share of the free memory that the largest point of a curve over tasks may use.
const SHARE_OF_MEMORY: f64 = 0.95;

/// The cases of a plan on this machine.
#[derive(Debug, Default)]
pub struct Campaign {
    programs: Programs,
    /// Cases that can be measured.
    pub cases: Vec<Case>,
    absent: Vec<Absent>,
    /// Why points of curves are absent: the reasons of each curve in order.
    pub cuts: Vec<Feasibility>,
    /// Most tasks of a point of a curve, and most memory of one in bytes.
    most: (u64, u64),
}

impl Campaign {
    /// Gives cases their CPUs, and sets apart the cases that this machine cannot run; points of curves that are too large
    /// are named on standard error. If a limit ends a curve over tasks, the largest possible number becomes a point.
    pub fn of(programs: Programs, cases: Vec<Case>) -> anyhow::Result<Self> {
        let (cases, absent) = placement::place_cases(cases)?;
        // A program that is missing or cannot be started is reported when it runs.
        let ask =
            |case: &Case| probe::ask(programs.of(case).ok()?, &case.flags, &case.setting).ok();
        let mut campaign = Campaign { absent, ..Campaign::default() };
        let mut told: Vec<String> = Vec::new();
        for curve in cases.chunk_by(|one, other| one.index == other.index) {
            if curve[0].x.is_none() {
                campaign.cases.extend_from_slice(curve);
                continue;
            }
            for line in campaign.add_curve(curve, ask) {
                if !told.contains(&line) {
                    console::say(format_args!("switchcost: {line}"));
                    told.push(line);
                }
            }
        }
        Ok(Campaign { programs, ..campaign })
    }

    /// Adds the points of a curve or a slope that fit; returns a line per reason why others do not.
    fn add_curve(
        &mut self,
        curve: &[Case],
        ask: impl Fn(&Case) -> Option<Feasibility>,
    ) -> Vec<String> {
        let mut cuts: Vec<(Feasibility, Vec<Case>)> = Vec::new();
        let mut last = None;
        for case in curve {
            match ask(case) {
                Some(Feasibility::Fits(description)) => {
                    self.add(case.clone(), &description);
                    last = case.x;
                }
                // What a program refuses fails when it runs; of a curve it is not run.
                Some(answer)
                    if case.cell.over.is_some()
                        || matches!(answer, Feasibility::TooMuch { .. }) =>
                {
                    match cuts.iter_mut().find(|(other, _)| other.alike(&answer)) {
                        Some((_, cases)) => cases.push(case.clone()),
                        None => cuts.push((answer, vec![case.clone()])),
                    }
                }
                _ => self.cases.push(case.clone()),
            }
        }
        if let Some((answer, cases)) = cuts.first_mut()
            && let Feasibility::TooMuch { largest, .. } = *answer
            && cases[0].cell.over.as_deref() == Some("tasks")
        {
            let at = |x: u64| {
                let mut case = Case { x: Some(x), ..cases[0].clone() };
                if let Some(value) = case.flags.last_mut() {
                    *value = x.to_string();
                }
                ask(&case).map(|answer| (case, answer))
            };
            // The first limit to bind among those that are too low here.
            if let Some((_, first)) = at(largest.saturating_add(1)) {
                let most = most_tasks(largest, &first);
                if curve[0].x <= Some(most)
                    && last < Some(most)
                    && let Some((case, Feasibility::Fits(description))) = at(most)
                {
                    self.add(case, &description);
                }
                if answer.alike(&first) {
                    *answer = first;
                }
            }
        }
        let lines = cuts.iter().map(|(answer, cases)| describe_cut(answer, cases)).collect();
        for (answer, cases) in cuts {
            let reason = answer.reason().unwrap_or_default();
            self.absent.extend(cases.into_iter().map(|case| (case, reason.clone())));
            self.cuts.push(answer);
        }
        lines
    }

    /// Adds a case that is so described.
    fn add(&mut self, mut case: Case, description: &Description) {
        let Description { tasks, hops, needs, .. } = *description;
        if let Some(all) = case.hops {
            // It depends only on the point, never on what was measured.
            case.iters = all.div_ceil(hops.unwrap_or(tasks).max(1)).max(FEWEST_ITERATIONS);
            case.warmup = case.iters.div_ceil(10);
        }
        self.cases.push(case);
        let (most, bytes) = self.most;
        self.most = (most.max(tasks), bytes.max(needs.bytes.of(tasks)));
    }

    /// Upper bounds of the measurement, on one line.
    pub fn describe(&self) -> String {
        let processes: u64 = self.cases.iter().map(|case| u64::from(case.rounds)).sum();
        let (tasks, bytes) = self.most;
        let (processes, tasks) = (counted(processes, "process"), counted(tasks, "task"));
        format!("{processes}, each with up to {tasks} and {}", Bytes(bytes))
    }

    /// Measures the cases.
    pub fn run(self, keep: Keep, plan: &Plan, time: Time) -> anyhow::Result<Rounds> {
        let mut rounds = Rounds::new(self.programs, keep, &self.cases, &self.absent, |header| {
            header.plan.question.clone_from(&plan.question);
        })?;
        rounds.run(self.cases, time, &pacing::PLAN, |_, cases, _| vec![true; cases.len()])?;
        Ok(rounds)
    }
}

/// Says which points of a curve are left out, and why.
fn describe_cut(answer: &Feasibility, cases: &[Case]) -> String {
    let case = &cases[0];
    let points: Vec<String> = cases.iter().filter_map(|case| Some(case.x?.to_string())).collect();
    let at = match (answer, case.flags.iter().nth_back(1)) {
        (Feasibility::NoFlag(_), _) | (_, None) => String::new(),
        (_, Some(flag)) => format!(" at {flag} {}", points.join(", ")),
    };
    format!("{} is not run{at}: {}", case.cell.row, answer.reason().unwrap_or_default())
}

/// Most tasks to try if the limits allow `largest`: meanwhile other programs need some of the room.
fn most_tasks(largest: u64, answer: &Feasibility) -> u64 {
    match answer {
        Feasibility::TooMuch { memory: true, .. } => (largest as f64 * SHARE_OF_MEMORY) as u64,
        _ => largest.saturating_sub(1 + largest / 1000),
    }
}

/// Runs a plan at once; returns its records and the new file in this folder that keeps them.
pub fn run_here(plan: &Plan) -> anyhow::Result<(PathBuf, Vec<Record>)> {
    let store = Store::open(None, "switchcost").map_err(|e| {
        anyhow::anyhow!(
            "cannot write results into this folder ({}): go to a folder that you may write to, or name a results file",
            e.root_cause()
        )
    })?;
    let path = store.path().to_owned();
    let cases = plan.cases();
    let names = cases.iter().map(|case| case.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    let keep = Keep { store, seed: None, options: Options::default() };
    let rounds = Campaign::of(programs, cases)?.run(keep, plan, Time::of(plan))?;
    Ok((path, rounds.records().to_vec()))
}
