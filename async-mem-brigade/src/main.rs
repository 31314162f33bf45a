//! The program's executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    async_mem_brigade::main()
}
