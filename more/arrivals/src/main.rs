//! The program's executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    arrivals::main()
}
