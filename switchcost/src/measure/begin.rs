//! The beginning of a run: its header.

use record::{Run, SCHEMA};

use crate::plan::lineup::Lineup;
use crate::system::console::shell_line;

/// Header of a run that begins now. A seed that is drawn is short enough to be typed again.
pub(crate) fn header(seed: Option<u64>, lineup: &Lineup) -> Run {
    let now = record::now();
    Run {
        schema: SCHEMA,
        id: now,
        started: now,
        command: command_line(),
        seed: seed.unwrap_or(now % 1_000_000),
        machine: observe::machine::read(),
        build: lineup.programs.build(),
        rows: lineup.rows.clone(),
        steady: lineup.sides.is_none(),
        sides: lineup.sides.clone(),
        notes: lineup.note.iter().cloned().collect(),
        ..Run::default()
    }
}

/// Words typed behind the runner's name, without the file that it writes to.
fn command_line() -> String {
    let mut words = Vec::new();
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        let arg = arg.to_string_lossy().into_owned();
        match arg.as_str() {
            "--out" => drop(args.next()),
            _ if arg.starts_with("--out=") => {}
            _ => words.push(arg),
        }
    }
    shell_line(&words)
}
