//! The program's executable.

fn main() -> std::process::ExitCode {
    async_creation::main()
}
