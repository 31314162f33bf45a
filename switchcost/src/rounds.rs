//! Rounds: every case once, each in a fresh process, one at a time, in a shuffled order.

use std::collections::HashSet;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use anyhow::{bail, ensure};
use record::{Build, Machine};
use record::{PlanPosition, Record, milliseconds};
use crate::{console, signals};

use crate::execute::{self, Outcome};
use crate::goroutines;
use crate::lock::Turn;
use crate::origin;
use crate::plan::Case;
use crate::programs::Programs;
use crate::progress::Progress;
use crate::store::Store;

/// What every program is given besides its case's flags.
const OUTPUT: [&str; 2] = ["--format", "json"];

/// How the error of a case begins that was never tried.
pub const NOT_RUN: &str = "not run: ";

/// A run of a plan: what it writes to, and what it has so far.
#[derive(Debug)]
pub struct Rounds {
    programs: Programs,
    store: Store,
    seed: u64,
    run: u64,
    command: String,
    records: Vec<Record>,
    done: HashSet<Place>,
    timeout: Duration,
    /// Kept, and not looked at.
    turn: Option<Turn>,
    /// What has ended it before its time.
    failure: Option<anyhow::Error>,
}

/// A run's place in the plan: the program, its flags, the round, and whether it is a twin.
type Place = (String, Vec<String>, u32, bool);

impl Rounds {
    /// A run that begins. A case that takes longer than `timeout` is made to end.
    pub fn new(programs: Programs, store: Store, seed: u64, timeout: Duration) -> Self {
        Rounds {
            programs,
            store,
            seed,
            run: milliseconds(SystemTime::now()),
            command: command_line(),
            records: Vec::new(),
            done: HashSet::new(),
            timeout,
            turn: None,
            failure: None,
        }
    }

    /// A run that goes on after `records`. Those that are partial or failed are run again.
    ///
    /// # Errors
    /// When a record is of none of the `cases`: it was made by another plan, or by other options;
    /// or when it was made on another machine or by another build.
    pub fn resume(mut self, records: Vec<Record>, cases: &[Case]) -> anyhow::Result<Self> {
        origin::ensure_same(&records)?;
        for record in &records {
            let Some(position) = &record.plan else {
                bail!("it holds a run by hand: {}", record.command_line.join(" "));
            };
            let flags = flags_of(record);
            let known =
                |case: &&Case| case.flags == flags && case.position.name() == position.name();
            ensure!(
                cases.iter().any(|case| known(&case)),
                "it was made by another plan or with other options: {}",
                position.name()
            );
            if record.error.is_none() && !record.partial {
                let program = record.benchmark.clone();
                self.done
                    .insert((program, flags, position.round, position.twin));
            }
        }
        if let Some(position) = records.first().and_then(|record| record.plan.as_ref()) {
            self.run = position.run;
            self.command = position.command.clone().unwrap_or_default();
        }
        self.records = records;
        Ok(self)
    }

    /// Waits until no other runner measures on this machine, and keeps others from it as long as
    /// this run lives; a signal ends the wait.
    pub fn await_turn(&mut self) {
        self.turn = Turn::take();
    }

    /// Runs these rounds of the cases that have them. Each record is stored as soon as it exists.
    /// A signal ends it early, and the run under way is stored as a partial record.
    ///
    /// # Errors
    /// When a program cannot be started or a record cannot be stored, and nothing was measured;
    /// where something was, [`Rounds::conclude`] tells the error, when that is printed. A program
    /// that fails is a record with an error.
    pub fn run(&mut self, cases: &[Case], rounds: Range<u32>) -> anyhow::Result<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        let outcome = self.run_all(cases, rounds).and_then(|()| self.store.sync());
        match outcome {
            Err(e) if !self.records.is_empty() => self.failure = Some(e),
            other => return other,
        }
        Ok(())
    }

    fn run_all(&mut self, cases: &[Case], rounds: Range<u32>) -> anyhow::Result<()> {
        let schedule = schedule(cases, rounds.clone(), self.seed);
        let left: Vec<_> = schedule
            .into_iter()
            .filter(|(round, _, case)| !self.done.contains(&place(case, *round)))
            .collect();
        let mut progress = Progress::new(left.len(), rounds.end);
        for (round, order, case) in left {
            if signals::received().is_some() {
                break;
            }
            progress.show(round, &case.position.name());
            let record = self.one(case, round, order)?;
            self.store.append(&record)?;
            self.records.push(record);
            progress.advance();
        }
        Ok(())
    }

    /// Runs a case once.
    fn one(&self, case: &Case, round: u32, order: u32) -> anyhow::Result<Record> {
        let mut flags = case.flags.clone();
        flags.extend(OUTPUT.map(str::to_owned));
        let mut record = match self.programs.missing(&case.program) {
            Some(why) => not_run(&case.program, flags, &why),
            None => {
                let path = self.programs.path(&case.program)?;
                match execute::run(&path, &flags, self.timeout)? {
                    Outcome::Measured(record) => *record,
                    Outcome::Failed(reason) => failed(&case.program, flags, reason),
                }
            }
        };
        record.plan = Some(PlanPosition {
            round,
            order,
            ..self.position(case)
        });
        Ok(record)
    }

    fn position(&self, case: &Case) -> PlanPosition {
        PlanPosition {
            run: self.run,
            command: Some(self.command.clone()),
            ..case.position.clone()
        }
    }

    /// Stores that a case is not run, and why, so that the file tells what is missing.
    ///
    /// # Errors
    /// When the record cannot be stored.
    pub fn leave_out(&mut self, case: &Case, reason: &str) -> anyhow::Result<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        let mut record = not_run(&case.program, case.flags.clone(), reason);
        record.plan = Some(self.position(case));
        self.store.append(&record)?;
        self.records.push(record);
        Ok(())
    }

    /// Makes sure that there is something to print.
    ///
    /// # Errors
    /// When nothing was measured.
    pub fn ensure_any(&self) -> anyhow::Result<()> {
        ensure!(!self.records.is_empty(), "nothing was measured");
        Ok(())
    }

    /// Says where the records are, and whether there should have been more.
    ///
    /// # Errors
    /// When every case failed, or what has ended the run before its time.
    pub fn conclude(&mut self) -> anyhow::Result<()> {
        if signals::received().is_some() {
            let (runs, s) = (
                self.records.len(),
                if self.records.len() == 1 { "" } else { "s" },
            );
            console::say(format_args!("interrupted after {runs} run{s}"));
        }
        console::say(format_args!("records: {}", self.store.path().display()));
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if signals::received().is_some() {
            return Ok(());
        }
        let is_missing = |record: &Record| {
            let reason = record
                .error
                .as_deref()
                .and_then(|e| e.strip_prefix(NOT_RUN));
            reason.is_some_and(|why| why.starts_with(goroutines::NO_TOOLCHAIN))
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

/// The runs of some rounds with their place in the round, shuffled. A round's order depends on the
/// seed and the round alone, so that a run that is resumed keeps it.
fn schedule(cases: &[Case], rounds: Range<u32>, seed: u64) -> Vec<(u32, u32, &Case)> {
    let mut runs = Vec::new();
    for round in rounds {
        let mut order: Vec<&Case> = cases.iter().filter(|case| round < case.rounds).collect();
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(u64::from(round) << 32));
        rng.shuffle(&mut order);
        runs.extend((0..).zip(order).map(|(place, case)| (round, place, case)));
    }
    runs
}

fn place(case: &Case, round: u32) -> Place {
    let program = case.program.clone();
    (program, case.flags.clone(), round, case.position.twin)
}

/// The flags of the case that a record was made by.
fn flags_of(record: &Record) -> Vec<String> {
    let flags = record.command_line.get(1..).unwrap_or_default();
    flags
        .strip_suffix(&OUTPUT.map(str::to_owned))
        .unwrap_or(flags)
        .to_vec()
}

/// What was typed behind the runner's name, without the files that it writes to.
fn command_line() -> String {
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

/// A record of a run that was not tried, and why.
fn not_run(program: &str, flags: Vec<String>, why: &str) -> Record {
    Record {
        // This runner's own build says nothing about it.
        build: Build::default(),
        ..failed(program, flags, format!("{NOT_RUN}{why}"))
    }
}

/// A record of a run that left none. Of its parameters it has the numbers, so that a point of a
/// curve is still known as the one it is.
fn failed(program: &str, flags: Vec<String>, reason: String) -> Record {
    let number = |pair: &[String]| {
        let name = pair[0].strip_prefix("--")?.replace('-', "_");
        Some((name, pair[1].parse::<u64>().ok()?.into()))
    };
    let params = flags.windows(2).filter_map(number).collect();
    let mut command_line = vec![program.to_owned()];
    command_line.extend(flags);
    Record {
        params,
        machine: Machine::read(),
        build: Build::current(),
        error: Some(reason),
        ..Record::empty(program, command_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn cases() -> Vec<Case> {
        Plan::built_in().unwrap().cases(false, 1)
    }

    #[test]
    fn a_round_has_every_case_once_in_an_order_of_its_own() {
        let cases = cases();
        let names = |round| -> Vec<String> {
            let runs = schedule(&cases, round..round + 1, 5);
            assert_eq!(runs.iter().map(|r| r.1).max(), Some(runs.len() as u32 - 1));
            runs.iter()
                .map(|(_, _, case)| format!("{:?}", case.flags))
                .collect()
        };
        let (first, second) = (names(0), names(1));
        assert_ne!(first, second);
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        assert_eq!(sorted(first.clone()), sorted(second));
        assert_eq!(first.len(), cases.len());
        // The same seed gives the same order again, whatever was run before.
        assert_eq!(first, names(0));
    }

    #[test]
    fn a_case_runs_in_as_many_rounds_as_it_has() {
        let cases = cases();
        let runs = schedule(&cases, 0..10, 5);
        assert_eq!(
            runs.len() as u32,
            cases.iter().map(|case| case.rounds).sum::<u32>()
        );
    }
}
