//! What a thread and an async task cost on this machine.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchcost::cli::main()
}
