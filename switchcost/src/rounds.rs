//! Rounds: every case once, each in a fresh process, one at a time, in a shuffled order.

use std::collections::HashSet;
use std::iter::zip;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use record::{Plan, Process, Record, Run};

use crate::NOT_RUN;
use crate::execute::{self, Options};
use crate::lock::Turn;
use crate::origin;
use crate::pacing::{self, Cost};
use crate::plan::Case;
use crate::programs::Programs;
use crate::progress::Progress;
use crate::store::{Contents, Store};
use crate::{console, signals};

/// A run of a plan: what it writes to, and what it has so far.
#[derive(Debug)]
pub struct Rounds {
    programs: Programs,
    store: Store,
    header: Arc<Run>,
    records: Vec<Record>,
    done: HashSet<Place>,
    options: Options,
    /// Stolen share above which a process is measured again.
    max_stolen: Option<f64>,
    /// Kept, and not looked at.
    turn: Option<Turn>,
    /// Error that ended it early.
    failure: Option<anyhow::Error>,
}

/// Place of a process in the run: the case, the swept value, the round, and whether it is a twin.
type Place = (u32, Option<u64>, u32, bool);

/// Waits before a process is measured again, in s: others come and go within seconds to a minute.
const PAUSES: [u64; 5] = [1, 2, 4, 8, 16];

impl Rounds {
    /// A run of these cases that begins now.
    ///
    /// # Errors
    /// When signals cannot be taken over.
    pub fn new(
        programs: Programs,
        store: Store,
        seed: u64,
        options: Options,
        cases: &[Case],
    ) -> anyhow::Result<Self> {
        signals::install()?;
        let machine = observe::machine::read();
        let build = programs.build();
        let header = Run::begin(command_line(), seed, machine, build, plan(cases));
        Ok(Rounds {
            programs,
            store,
            header: Arc::new(header),
            records: Vec::new(),
            done: HashSet::new(),
            options,
            max_stolen: None,
            turn: None,
            failure: None,
        })
    }

    /// Measures a process again while the host takes more than this share of its time. Each is stored; the
    /// last one counts.
    #[must_use]
    pub fn repeated_above(mut self, max_stolen: Option<f64>) -> Self {
        self.max_stolen = max_stolen;
        self
    }

    /// A run that goes on where a file ends. Processes that were interrupted or failed are run again.
    ///
    /// # Errors
    /// When it was made by another plan or with other options, on another machine or by another build.
    pub fn resume(mut self, earlier: Contents, cases: &[Case]) -> anyhow::Result<Self> {
        let Some(header) = earlier.runs.last() else {
            return Ok(self);
        };
        ensure!(earlier.runs.len() == 1, "it holds several runs");
        origin::ensure_same(header, &self.header.machine, &self.header.build)?;
        let other = "it was made by another plan or with other options";
        ensure!(header.plan == self.header.plan && header.seed == self.header.seed, "{other}");
        for record in earlier.records.iter().filter(|record| record.is_whole()) {
            let is_its = |case: &&Case| case.index == record.case && case.x == record.x;
            let Some(case) = cases.iter().find(is_its) else {
                bail!("{other}: {}", record.args.join(" "));
            };
            ensure!(
                case.args() == record.args,
                "{other}: {} {}",
                record.program,
                record.args.join(" ")
            );
            let place = (record.case, record.x, record.round, record.twin);
            self.done.insert(place);
        }
        self.header = header.clone();
        self.records = earlier.records;
        Ok(self)
    }

    /// Waits until no other runner measures on this machine, which costs nothing of the budget, and keeps
    /// others from it as long as this run lives. Then runs all rounds of the cases.
    ///
    /// Where there is a budget, rounds go on for about so long: the first one sizes the others, so that at
    /// least [`pacing::ROUNDS`] fit, and cases that do not fit are left out and named. Each process is
    /// stored as soon as it has ended. A signal ends it early, and it is stored as interrupted.
    ///
    /// # Errors
    /// When nothing was measured; where something was, [`Rounds::conclude`] tells the error, when that
    /// is printed. A program that fails is a record with an error.
    pub fn run(&mut self, cases: Vec<Case>, budget: Option<Duration>) -> anyhow::Result<()> {
        self.turn = Turn::take();
        let outcome = self.run_all(cases, budget).and_then(|()| self.store.sync());
        if self.records.is_empty() {
            outcome?;
            bail!("nothing was measured");
        }
        self.failure = outcome.err();
        Ok(())
    }

    fn run_all(&mut self, mut cases: Vec<Case>, budget: Option<Duration>) -> anyhow::Result<()> {
        let begun = Instant::now();
        let last = cases.iter().map(|case| case.rounds).max().unwrap_or(0);
        let all: usize = cases.iter().map(|case| case.rounds as usize).sum();
        let mut progress = match budget {
            Some(budget) => Progress::until(begun + budget),
            None => Progress::new(all.saturating_sub(self.done.len()), last),
        };
        self.options.longest = budget.map(|budget| pacing::longest(budget, cases.len()));
        for round in 0..last {
            let walls = self.run_round(&cases, round, &mut progress)?;
            if signals::received().is_some() {
                break;
            }
            let Some(budget) = budget else { continue };
            if round == 0 {
                self.options.longest = None;
                self.size(&mut cases, walls, budget, begun.elapsed());
            }
            let is_due = round + 1 >= pacing::ROUNDS && begun.elapsed() >= budget;
            if is_due || cases.iter().all(|case| case.rounds <= round + 1) {
                break;
            }
        }
        Ok(())
    }

    /// Sizes the cases by what the first round took, and names those that do not fit.
    fn size(
        &self,
        cases: &mut Vec<Case>,
        walls: Vec<Option<Duration>>,
        budget: Duration,
        used: Duration,
    ) {
        let costs: Vec<Cost> =
            zip(cases.iter(), walls).map(|(c, wall)| self.cost(c, wall)).collect();
        let dropped = pacing::fit(cases, &costs, budget.saturating_sub(used));
        if !dropped.is_empty() {
            console::say(format_args!(
                "left out after one round, since it would take most of {} s: {}; a larger --budget has room",
                budget.as_secs(),
                dropped.join("; ")
            ));
        }
    }

    /// Cost of a case in the first round; `wall` is `None` where an earlier run measured it, which did not
    /// write down how long the whole process took.
    fn cost(&self, case: &Case, wall: Option<Duration>) -> Cost {
        let is_its = |record: &&Record| {
            (record.case, record.x, record.round, record.twin) == (case.index, case.x, 0, case.twin)
        };
        let Some(record) = self.records.iter().rfind(is_its) else {
            return Cost::default();
        };
        Cost::of(record, wall.unwrap_or_else(|| pacing::least(record)))
    }

    /// Runs one round as far as no signal ends it. Returns how long each case's process took; `None` where
    /// it was not run.
    fn run_round(
        &mut self,
        cases: &[Case],
        round: u32,
        progress: &mut Progress,
    ) -> anyhow::Result<Vec<Option<Duration>>> {
        let mut walls = vec![None; cases.len()];
        for (order, place) in shuffled(cases, round, self.header.seed) {
            let case = &cases[place];
            if signals::received().is_some() {
                break;
            }
            if self.done.contains(&(case.index, case.x, round, case.twin)) {
                continue;
            }
            let mut pauses = PAUSES.iter();
            loop {
                progress.show(round, &case.cell.name());
                let begun = Instant::now();
                let process = self.one(case);
                walls[place] = Some(begun.elapsed());
                let is_disturbed = is_disturbed(&process, self.max_stolen);
                let pause = pauses.next().filter(|_| is_disturbed);
                let process = Process { disturbed: pause.is_some(), ..process };
                self.keep(case, process, round, order)?;
                let Some(pause) = pause else { break };
                progress.show(round, "waiting for the host, which takes CPU time");
                signals::pause(Duration::from_secs(*pause))?;
                if signals::received().is_some() {
                    break;
                }
            }
            progress.advance();
        }
        Ok(walls)
    }

    /// Runs a case once.
    fn one(&self, case: &Case) -> Process {
        match self.programs.executable(&case.program) {
            Ok(program) => execute::run(program, case, &self.options),
            Err(why) => failed(case, format!("{why:#}")),
        }
    }

    /// Puts a process into its place in the run, and stores it.
    fn keep(
        &mut self,
        case: &Case,
        mut process: Process,
        round: u32,
        order: u32,
    ) -> anyhow::Result<()> {
        if self.records.is_empty() {
            self.store.begin(&self.header)?;
        }
        process.run = self.header.id;
        process.case = case.index;
        (process.round, process.order) = (round, order);
        (process.twin, process.x) = (case.twin, case.x);
        self.store.append(&process)?;
        let record = Record::new(self.header.clone(), process).map_err(anyhow::Error::msg)?;
        self.records.push(record);
        Ok(())
    }

    /// Stores that a case is not run, and why, so that the file tells what is missing.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn leave_out(&mut self, case: &Case, reason: &str) -> anyhow::Result<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        let process = failed(case, format!("{NOT_RUN}{reason}"));
        self.keep(case, process, 0, 0)
    }

    /// Says where the records are, and whether there should have been more.
    ///
    /// # Errors
    /// When every case failed, when the file has gone, or what has ended the run before its time.
    pub fn conclude(&mut self) -> anyhow::Result<()> {
        if signals::received().is_some() {
            let runs = self.records.len();
            let s = if runs == 1 { "" } else { "s" };
            console::say(format_args!("interrupted after {runs} run{s}"));
        }
        let kept = self.store.ensure_kept();
        if kept.is_ok() {
            console::say(format_args!("records: {}", self.store.path().display()));
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        kept?;
        if signals::received().is_some() {
            return Ok(());
        }
        let is_missing = |record: &Record| {
            let error = record.error.as_deref();
            error.is_some_and(|why| why.starts_with(NOT_RUN))
        };
        let mut tried = self.records.iter().filter(|r| !is_missing(r)).peekable();
        ensure!(
            tried.peek().is_none() || tried.any(|record| record.samples.is_some()),
            "every case failed; the records say why"
        );
        Ok(())
    }

    /// The file they are in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The records so far.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}

/// The places of a round's cases, in the order in which they run. It depends on the seed and the round alone, so that
/// a run that is resumed keeps it.
fn shuffled(cases: &[Case], round: u32, seed: u64) -> Vec<(u32, usize)> {
    let mut order: Vec<usize> = (0..cases.len()).filter(|&k| round < cases[k].rounds).collect();
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(u64::from(round) << 32));
    rng.shuffle(&mut order);
    (0..).zip(order).collect()
}

/// The header's part about the cases, in the order of their places.
fn plan(cases: &[Case]) -> Plan {
    let mut in_order: Vec<&Case> = cases.iter().collect();
    in_order.sort_by_key(|case| case.index);
    let mut plan = Plan::default();
    for case in in_order {
        // A filter leaves gaps.
        while plan.cases.len() < case.index as usize {
            plan.cases.push(record::Case {
                section: case.section.title.clone(),
                ..record::Case::default()
            });
        }
        if plan.cases.len() == case.index as usize {
            plan.put(&case.section, &case.cell);
        }
    }
    plan
}

/// Words typed behind the runner's name, without the files that it writes to.
pub(crate) fn command_line() -> String {
    let mut words = Vec::new();
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        let arg = arg.to_string_lossy().into_owned();
        match arg.as_str() {
            "--out" | "--resume" => drop(args.next()),
            _ if arg.starts_with("--out=") || arg.starts_with("--resume=") => {}
            _ if arg.contains([' ', '\'', '"', '\n']) => words.push(format!("{arg:?}")),
            _ => words.push(arg),
        }
    }
    words.join(" ")
}

/// Whether the host took more of a process's time than it may.
fn is_disturbed(process: &Process, max_stolen: Option<f64>) -> bool {
    process.is_whole() && process.stolen().zip(max_stolen).is_some_and(|(share, max)| share > max)
}

/// A process that never ran.
fn failed(case: &Case, reason: String) -> Process {
    Process { error: Some(reason), ..Process::of(&case.program, case.flags.clone()) }
}

#[cfg(test)]
mod tests;
