//! The runner's executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchcost::cli::main()
}
