//! Records for unit tests.

use std::sync::Arc;

use contract::message::Description;
use record::{Place, Record, Row, Run, SCHEMA, Samples, Trial};
use serde_json::json;

/// What a program without hops says of a command line with so many tasks.
pub(crate) fn description(tasks: u64) -> Description {
    let said = json!({
        "contract": 1, "program": "p", "version": "1", "tasks": tasks, "claim": "no-switch", "passes": [],
    });
    serde_json::from_value(said).unwrap()
}

/// A trial of a program with so many tasks, in the only row of its run.
pub(crate) fn record(program: &str, tasks: u64, samples: &[u64]) -> Record {
    let trial = Trial { samples: Samples::of(samples), ..Trial::begin() };
    in_row(row("", program, &[]), description(tasks), trial)
}

/// A row of a program with these flags.
pub(crate) fn row(name: &str, program: &str, flags: &[&str]) -> Row {
    let mut row =
        Row { place: Place { row: name.to_owned(), ..Place::default() }, ..Row::default() };
    row.command.program = program.to_owned();
    row.command.flags = flags.iter().map(|&flag| flag.to_owned()).collect();
    row
}

/// A trial in the only row of a run.
pub(crate) fn in_row(row: Row, said: Description, trial: Trial) -> Record {
    let run = Run { schema: SCHEMA, id: 1, seed: 1, rows: vec![row], ..Run::default() };
    Record::new(Arc::new(run), Some(Arc::new(said)), None, trial)
}
