//! What the tests share.

pub(crate) mod house;
pub(crate) mod process;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

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

/// Most differences that are printed.
const SHOWN: usize = 40;

/// Holds a text against this file of `tests`; `GOLDEN=write` writes it anew, and `git diff` shows what differs.
pub(crate) fn golden(file: &str, new: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    if env::var_os("GOLDEN").is_some_and(|mode| mode == "write") {
        fs::write(path, new).unwrap();
        return;
    }
    let differences = differences(&fs::read_to_string(path).unwrap(), new);
    let shown = differences.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{file}: {} lines differ:\n{shown}", differences.len());
}

/// How many lines there are, if that differs; then each line that does, with its number.
fn differences(old: &str, new: &str) -> Vec<String> {
    let pairs = old.lines().zip(new.lines()).enumerate();
    let unlike = pairs.filter(|(_, (old, new))| !are_alike(old, new));
    let lines = unlike.map(|(index, (old, new))| {
        format!("line {}: {} -> {}", index + 1, old.trim_start(), new.trim_start())
    });
    let [before, now] = [old, new].map(|text| text.lines().count());
    let counts = (before != now).then(|| format!("{before} lines -> {now} lines"));
    counts.into_iter().chain(lines).collect()
}

/// True if two lines have the same words and, to nine digits, the same numbers. The tenth may depend on the CPU, since the
/// C library has several logarithms, and chooses one by the CPU.
fn are_alike(old: &str, new: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split([' ', '[', ']', ',', '=']).map(str::to_owned).collect()
    };
    let is_long = |old: &str, new: &str| old.len().max(new.len()) > 9;
    let alike = |old: &String, new: &String| match (old.parse::<f64>(), new.parse::<f64>()) {
        (Ok(was), Ok(is)) if is_long(old, new) => {
            (was - is).abs() <= 1e-12 + 1e-9 * was.abs().max(is.abs())
        }
        _ => old == new,
    };
    let (old, new) = (words(old), words(new));
    old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| alike(old, new))
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
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
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
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
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
