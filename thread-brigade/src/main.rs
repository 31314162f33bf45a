//! The program's executable.

fn main() -> std::process::ExitCode {
    thread_brigade::main()
}
