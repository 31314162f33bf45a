//! The program's executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    thread_mem_brigade::main()
}
