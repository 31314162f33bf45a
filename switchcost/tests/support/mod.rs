//! What the tests share.

pub(crate) mod benchmarks;
pub(crate) mod process;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

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

/// How many CPUs this process may use.
pub(crate) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Waits until something is so.
///
/// # Panics
/// When it is not so after 20 seconds.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The whole number that follows `words` in a text.
pub(crate) fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    let digits: &str = rest
        .trim_start()
        .split(|c: char| !c.is_ascii_digit())
        .next()?;
    digits.parse().ok()
}
