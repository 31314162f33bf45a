//! The beginning of a run: its header.

use std::time::SystemTime;

use record::{Build, Row, Run};

use crate::system::console::shell_line;

/// Header of a run of these rows that begins now. A seed that is drawn is short enough to be typed again.
pub(crate) fn header(seed: Option<u64>, build: Build, rows: Vec<Row>) -> Run {
    let drawn = || record::milliseconds(SystemTime::now()) % 1_000_000;
    let seed = seed.unwrap_or_else(drawn);
    Run::begin(command_line(), seed, observe::machine::read(), build, rows)
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
