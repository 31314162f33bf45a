//! The program's executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    thread_creation::main()
}
