//! What the tests share.

pub(crate) mod house;
pub(crate) mod process;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The runner's executable, beside which the programs are.
pub(crate) const RUNNER: &str = env!("CARGO_BIN_EXE_switchcost");

/// Says why a test, or a part of it, could not be made here. Past the test harness, which would
/// keep it for itself when the test passes.
pub(crate) fn skip(why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

/// Whether a program of this name can be run.
pub(crate) fn is_installed(program: &str) -> bool {
    let executable = |folder: &Path| {
        fs::metadata(folder.join(program))
            .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| executable(&folder)))
}

/// Waits until something is so.
///
/// # Panics
/// When it is not so after 60 seconds.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
