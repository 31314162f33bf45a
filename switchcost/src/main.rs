//! The runner's executable.

use std::process::ExitCode;

use switchcost::cli;
use switchcost::plan::carried;

fn main() -> ExitCode {
    carried::started().unwrap_or(cli::main)()
}
