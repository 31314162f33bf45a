//! The program's executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    one_thread_brigade::main()
}
