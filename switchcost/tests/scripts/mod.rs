//! The shell scripts of `scripts/`.

mod ci;
mod rss;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::house::executable;
use crate::support::process::Run;
use crate::support::{is_installed, skip};

/// Whether these can be run; says so if not.
fn can_run(tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| !is_installed(tool));
    if let Some(tool) = missing {
        skip(&format!("{tool} is not installed"));
    }
    missing.is_none()
}

fn path_of(script: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    workspace.join("scripts").join(script)
}

/// A run of a script.
fn script(name: &str, flags: &str) -> Run {
    Run::of(path_of(name)).flags(flags)
}

/// A run of a script that a shell prepares.
fn within(preparation: &str, name: &str, flags: &str) -> Run {
    Run::within(preparation, &path_of(name)).flags(flags)
}

/// A folder with links to these tools, to be all of PATH or its beginning.
fn folder_of(tools: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for tool in tools {
        let mut find = Command::new("sh");
        let found = find.args(["-c", r#"command -v "$0""#, tool]).output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        symlink(found.trim(), folder.path().join(tool)).unwrap();
    }
    folder
}

/// Bad usage of a script, and the word that the error names.
const BAD_USAGE: &[(&str, &str, &str)] = &[
    ("archive.sh", "dist", "'dist'"),
    ("archive.sh", "--out", "--out"),
    ("kernels.sh", "--frobnicate", "--frobnicate"),
    ("kernels.sh", "2.4", "'2.4'"),
    ("kernels.sh", "--only nine 6.1", "'nine'"),
    ("kernels.sh", "--archive /nonexistent", "/nonexistent"),
    ("ci-duel.sh", "", "revision"),
    ("ci-duel.sh", "--crate tokio HEAD", "--crate"),
    ("rss-per-thread.sh", "--from 0", "'0'"),
    ("rss-per-thread.sh", "--iters 08", "'08'"),
    ("rss-per-thread.sh", "--to 99999999999999999999", "--to"),
    ("rss-per-thread.sh", "--from 50 --to 40", "--from 50 --to 40"),
    ("rss-per-thread.sh", "--program async", "'async'"),
    ("rss-per-task.sh", "--from", "--from"),
    ("rss-per-task.sh", "--tasks 10", "after --"),
];

#[test]
fn bad_usage_is_told_before_anything_is_done() {
    if !can_run(&["bash", "grep"]) {
        return;
    }
    for (name, flags, word) in BAD_USAGE {
        script(name, flags).finish().expect_refusal(2, &[word, name, "--help"]);
    }
}

#[test]
fn each_explains_itself() {
    if !can_run(&["bash"]) {
        return;
    }
    for (name, word) in [
        ("archive.sh", "Exit status"),
        ("kernels.sh", "5.10 6.1 6.12"),
        ("ci-duel.sh", "BASE"),
        ("rss-per-thread.sh", "--from"),
        ("rss-per-task.sh", "async-mem-brigade"),
    ] {
        let help = script(name, "--help").finish().expect_quiet_success();
        assert!(help.stdout.contains(word) && help.stdout.contains("Usage:"), "{help}");
    }
}

#[test]
fn a_tool_that_is_missing_is_named() {
    if !can_run(&["bash", "env", "dirname", "readlink", "grep", "cat"]) {
        return;
    }
    let tools = folder_of(&["bash", "env", "dirname", "readlink", "grep", "cat"]);
    let path = format!(r#"PATH='{}' exec "$0" "$@""#, tools.path().display());
    for (name, code, words) in [
        ("archive.sh", 1, ["cargo is not installed", "rustup.rs"]),
        ("kernels.sh", 3, ["is not installed", "qemu-system-x86"]),
        ("rss-per-thread.sh", 1, ["pmap", "package procps"]),
    ] {
        within(&path, name, "").finish().expect_refusal(code, &words);
    }
}
