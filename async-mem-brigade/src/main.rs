//! The program's executable.

fn main() -> std::process::ExitCode {
    async_mem_brigade::main()
}
