//! The program's executable.

fn main() -> std::process::ExitCode {
    process_brigade::main()
}
