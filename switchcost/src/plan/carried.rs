//! Programs that this executable carries, for those who have it alone: started under the name of one, it is that
//! program. The code is that of the standalone executables.

use std::env;
use std::path::Path;
use std::process::ExitCode;

/// What an executable's `main` calls.
type Main = fn() -> ExitCode;

/// The programs of the built-in plans that take nothing but Rust.
const CARRIED: [(&str, Main); 10] = [
    ("arrivals", arrivals::main),
    ("async-brigade", async_brigade::main),
    ("async-creation", async_creation::main),
    ("async-mem-brigade", async_mem_brigade::main),
    ("everyday-work", everyday_work::main),
    ("one-thread-brigade", one_thread_brigade::main),
    ("process-brigade", process_brigade::main),
    ("thread-brigade", thread_brigade::main),
    ("thread-creation", thread_creation::main),
    ("thread-mem-brigade", thread_mem_brigade::main),
];

/// The program of that name.
pub(crate) fn program(name: &str) -> Option<Main> {
    CARRIED.iter().find(|(carried, _)| *carried == name).map(|(_, main)| *main)
}

/// Names of all, for a message.
pub(crate) fn names() -> String {
    CARRIED.map(|(name, _)| name).join(", ")
}

/// The program under whose name this executable was started.
pub fn started() -> Option<Main> {
    let name = env::args_os().next()?;
    program(Path::new(&name).file_name()?.to_str()?)
}
