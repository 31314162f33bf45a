//! A campaign: the cases of a plan that this machine can run, from the look at its limits to the records.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use contract::message::Description;
use contract::units::{Bytes, counted};
use facts::Record;

use super::deadline::Time;
use super::probe;
use super::rounds::Rounds;
use super::store::{self, Contents, Store};
use super::turns::Options;
use crate::plan::feasibility::Feasibility;
use crate::plan::placement::{self, Absent};
use crate::plan::programs::Programs;
use crate::plan::{Case, Plan};
use crate::system::console::{self, BadUsage};
use crate::system::replace;

/// Fewest timed iterations in a process whose number follows from its hops.
const FEWEST_ITERATIONS: u64 = 3;

/// Share of the free memory that the largest point of a curve over tasks may use.
const SHARE_OF_MEMORY: f64 = 0.95;

/// Where records go, and how they are made.
#[derive(Debug)]
pub struct Keep {
    /// The file.
    pub store: Store,
    /// Shuffles each round; drawn from the clock if there is none.
    pub seed: Option<u64>,
    /// How each process is measured.
    pub options: Options,
    /// The records of a run that is to go on.
    pub earlier: Contents,
}

/// The cases of a plan on this machine.
#[derive(Debug, Default)]
pub struct Campaign {
    programs: Programs,
    /// Cases that can be measured.
    pub cases: Vec<Case>,
    absent: Vec<Absent>,
    /// Why points of curves are absent: of each curve, the reasons in their order.
    pub cuts: Vec<Feasibility>,
    /// Most tasks of a point of a curve, and most memory of one in bytes.
    most: (u64, u64),
}

impl Campaign {
    /// Gives cases their CPUs, and separates those that this machine cannot run; points of curves that are too large are
    /// named on standard error. If a limit ends a curve over tasks, the largest number that it allows is a point too.
    ///
    /// # Errors
    /// When the CPUs cannot be read.
    pub fn of(programs: Programs, cases: Vec<Case>) -> anyhow::Result<Self> {
        let (cases, absent) = placement::place_cases(cases)?;
        // A program that is missing or cannot be started is told of when it runs.
        let found = programs.clone();
        let ask = |case: &Case| probe::ask(found.of(case).ok()?, &case.flags, &case.setting).ok();
        let mut campaign = Campaign { programs, absent, ..Campaign::default() };
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
        Ok(campaign)
    }

    /// Adds the points of a curve or a slope that fit. A line for each reason of the others.
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
            // Of all the limits that are too low here, the one that binds first.
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
            // A matter of the point alone, and never of what was measured.
            case.iters = all.div_ceil(hops.unwrap_or(tasks).max(1)).max(FEWEST_ITERATIONS);
            case.warmup = case.iters.div_ceil(10);
        }
        self.cases.push(case);
        let (most, bytes) = self.most;
        self.most = (most.max(tasks), bytes.max(needs.bytes.of(tasks)));
    }

    /// What the measurement takes at most, in a line.
    pub fn describe(&self) -> String {
        let processes: u64 = self.cases.iter().map(|case| u64::from(case.rounds)).sum();
        let (tasks, bytes) = self.most;
        let (processes, tasks) = (counted(processes, "process"), counted(tasks, "task"));
        format!("{processes}, with up to {tasks} and {} in one", Bytes(bytes))
    }

    /// Measures the cases, after those that an earlier run has measured.
    ///
    /// # Errors
    /// As [`Rounds::run`], and when the earlier run is another one.
    pub fn run(self, keep: Keep, plan: &Plan, time: Time) -> anyhow::Result<Rounds> {
        let Keep { store, seed, options, earlier } = keep;
        let seed = earlier.runs.last().map(|run| run.seed).or(seed).unwrap_or_else(drawn_seed);
        let path = store.path().to_owned();
        let absent = self.absent.iter().map(|(case, _)| case);
        let all: Vec<Case> = self.cases.iter().chain(absent).cloned().collect();
        let mut rounds = Rounds::new(self.programs, store, seed, options, &all)?
            .asking(plan.question.clone())
            .resume(earlier, &all)
            .map_err(|e| BadUsage::new(format!("--resume: {}: {e}", path.display())))?;
        for (case, reason) in &self.absent {
            rounds.leave_out(case, reason)?;
        }
        rounds.run(self.cases, time)?;
        Ok(rounds)
    }
}

/// Says which points of a curve are left out, and why.
fn describe_cut(answer: &Feasibility, cases: &[Case]) -> String {
    let case = &cases[0];
    let points: Vec<String> = cases.iter().filter_map(|case| Some(case.x?.to_string())).collect();
    let flag = case.flags.iter().nth_back(1).map_or("", String::as_str);
    let reason = answer.reason().unwrap_or_default();
    format!("{} is not run at {flag} {}: {reason}", case.cell.row, points.join(", "))
}

/// Most tasks to try if the limits allow `largest`: others need some of what is free meanwhile.
fn most_tasks(largest: u64, answer: &Feasibility) -> u64 {
    match answer {
        Feasibility::TooMuch { memory: true, .. } => (largest as f64 * SHARE_OF_MEMORY) as u64,
        _ => largest.saturating_sub(1 + largest / 1000),
    }
}

/// The records of a run that is to go on.
///
/// # Errors
/// When it is no file of records that can be appended to.
pub fn earlier(path: &Path) -> anyhow::Result<Contents> {
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

/// Records of a short run of a plan, and the new file in this folder that keeps them.
///
/// # Errors
/// When nothing can be kept or measured.
pub fn quick(plan: Plan) -> anyhow::Result<(PathBuf, Vec<Record>)> {
    let store = Store::open(None)?;
    let path = store.path().to_owned();
    let plan = plan.quickened();
    let cases = plan.cases();
    let names = cases.iter().map(|case| case.program.as_str());
    let programs = Programs::up_to_date(names, &plan.programs)?;
    let keep =
        Keep { store, seed: None, options: Options::default(), earlier: Contents::default() };
    let rounds = Campaign::of(programs, cases)?.run(keep, &plan, Time::of(&plan))?;
    Ok((path, rounds.records().to_vec()))
}

/// A number that is short enough to be typed again.
pub fn drawn_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |t| t.as_nanos() as u64 / 1000 % 1_000_000)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn description(tasks: u64) -> Box<Description> {
        let json = serde_json::json!({
            "contract": 1, "program": "p", "version": "3", "tasks": tasks, "hops": tasks + 1,
            "claim": "no-switch", "passes": [{"name": "main"}]
        });
        Box::new(serde_json::from_value(json).unwrap())
    }

    fn curve(flag: &str, values: &[u64]) -> Vec<Case> {
        let cell = facts::Case {
            row: "p".to_owned(),
            over: Some(flag.trim_start_matches('-').to_owned()),
            ..facts::Case::default()
        };
        let case = Case { hops: Some(100_000), cell: Arc::new(cell), ..Case::default() };
        values.iter().map(|&x| case.at(flag, x, "")).collect()
    }

    #[test]
    fn a_curve_over_tasks_goes_as_far_as_the_limits() {
        let ask = |case: &Case| {
            let (tasks, limits) = (case.x.unwrap(), vec!["open files".to_owned()]);
            let description = description(tasks);
            Some(match tasks {
                ..=500 => Feasibility::Fits(description),
                _ => Feasibility::TooMuch { description, largest: 500, limits, memory: false },
            })
        };
        let mut campaign = Campaign::default();
        let lines = campaign.add_curve(&curve("--tasks", &[9, 1000, 2000]), ask);
        assert_eq!(
            lines,
            [
                "p is not run at --tasks 1000, 2000: this system allows at most 500 tasks (open files)"
            ]
        );
        let found = |case: &Case| (case.flags.join(" "), case.iters, case.warmup);
        assert_eq!(
            campaign.cases.iter().map(found).collect::<Vec<_>>(),
            [("--tasks 9".to_owned(), 10_000, 1000), ("--tasks 499".to_owned(), 200, 20)]
        );
        assert_eq!((campaign.absent.len(), campaign.most.0), (2, 499));
    }
}
