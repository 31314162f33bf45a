//! Rounds: every case once, each in a fresh process, one at a time, in a shuffled order.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use harness::machine::{Build, Machine};
use harness::record::{PlanPosition, Record};
use harness::signals;
use harness::units::Nanos;

use crate::execute::{self, Outcome};
use crate::plan::Case;
use crate::programs::Programs;
use crate::store::Store;

/// Runs all rounds and returns the records, each of which was stored as soon as it existed. A
/// signal ends it early: the run under way is stored as a partial record.
///
/// # Errors
/// When a program cannot be started or a record cannot be stored; a program that fails is a
/// record with an error.
pub fn run(
    cases: &[Case],
    programs: &Programs,
    store: &mut Store,
    seed: u64,
) -> anyhow::Result<Vec<Record>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut records = Vec::new();
    let mut progress = Progress::new(cases);
    let last = cases.iter().map(|case| case.rounds).max().unwrap_or(0);
    for round in 0..last {
        let mut order: Vec<&Case> = cases.iter().filter(|case| round < case.rounds).collect();
        rng.shuffle(&mut order);
        for (place, case) in (0..).zip(order) {
            if signals::received().is_some() {
                progress.clear();
                return Ok(records);
            }
            progress.show(round, last, case);
            let position = PlanPosition {
                round,
                order: place,
                ..case.position.clone()
            };
            let record = one(case, programs, position)?;
            store.append(&record)?;
            records.push(record);
            progress.done += 1;
        }
    }
    progress.clear();
    Ok(records)
}

/// Runs a case once.
fn one(case: &Case, programs: &Programs, position: PlanPosition) -> anyhow::Result<Record> {
    let path = programs.path(&case.program)?;
    let mut record = match execute::run(&path, &case.flags)? {
        Outcome::Measured(record) => *record,
        Outcome::Failed(reason) => failed(case, reason),
    };
    record.plan = Some(position);
    Ok(record)
}

/// A record of a run that left none.
fn failed(case: &Case, reason: String) -> Record {
    let mut command_line = vec![case.program.clone()];
    command_line.extend(case.flags.iter().cloned());
    Record {
        machine: Machine::read(),
        build: Build::current(),
        error: Some(reason),
        ..Record::empty(&case.program, command_line)
    }
}

/// A line on the terminal, drawn before a run begins and never while one measures.
struct Progress {
    terminal: bool,
    begun: Instant,
    done: u32,
    all: u32,
}

impl Progress {
    fn new(cases: &[Case]) -> Self {
        Progress {
            terminal: std::io::stderr().is_terminal(),
            begun: Instant::now(),
            done: 0,
            all: cases.iter().map(|case| case.rounds).sum(),
        }
    }

    fn show(&self, round: u32, rounds: u32, case: &Case) {
        let left = match self.done {
            0 => String::new(),
            done => {
                let each = self.begun.elapsed() / done;
                format!(", about {:.0} left", seconds(each * (self.all - done)))
            }
        };
        self.draw(&format!(
            "round {} of {rounds}{left}: {} {}",
            round + 1,
            case.position.row,
            case.position.column
        ));
    }

    fn clear(&self) {
        self.draw("");
    }

    fn draw(&self, line: &str) {
        if self.terminal {
            // A terminal that has gone away is no reason to stop measuring.
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        }
    }
}

fn seconds(time: Duration) -> Nanos {
    Nanos(time.as_secs_f64().ceil() * 1e9)
}
