//! What the tests share.

pub(crate) mod house;
pub(crate) mod process;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use process::Run;

/// The runner's executable, beside which the programs are.
pub(crate) const RUNNER: &str = env!("CARGO_BIN_EXE_switchcost");

/// Records of four tables and a curve, of no machine.
pub(crate) const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plan.jsonl");

/// Committed results that hold an answer.
pub(crate) const ANSWER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../results/xeon6-2vcpu-6.18/answer.jsonl.gz");

/// Folder of the committed results.
pub(crate) const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../results");

/// The committed results, in the order of their paths.
pub(crate) fn results() -> Vec<PathBuf> {
    let folders = fs::read_dir(RESULTS).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|entry| entry.unwrap().path());
    let is_result = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "gz");
    let mut results: Vec<PathBuf> = paths.filter(is_result).collect();
    results.sort_unstable();
    results
}

/// A run of the runner.
pub(crate) fn switchcost(flags: &str) -> Run {
    Run::of(RUNNER).flags(flags)
}

/// Compares with the snapshot of this name in a folder of `fixtures/snapshots`.
pub(crate) fn snapshot(folder: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new("../fixtures/snapshots").join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Brings the programs up to date in the folder where the runner's executable is. All of them: with
/// others, cargo would build another one for other features of what they share.
pub(crate) fn build() -> &'static Path {
    static FOLDER: OnceLock<&Path> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(RUNNER).parent().unwrap();
        let profile = match folder.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            other => other,
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
            .args("build --quiet --bins --examples --workspace --exclude switchcost".split(' '))
            .args(["--profile", profile, "--target-dir"])
            .arg(folder.parent().unwrap())
            .status();
        assert!(status.unwrap().success(), "cargo build");
        folder
    })
}

/// Says why a test, or a part of it, could not be made here. Past the test harness, which would
/// keep it for itself when the test passes.
pub(crate) fn skip(why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

/// Whether a program of this name can be run.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
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
