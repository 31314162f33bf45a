//! The program's executable.

fn main() -> std::process::ExitCode {
    one_thread_brigade::main()
}
