//! The program's executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    everyday_work::main()
}
