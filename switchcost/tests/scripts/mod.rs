//! The shell scripts of `scripts/`, with the programs of this profile.

mod archive;
mod raise_limits;
mod rss;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::benchmarks::{self, RUNNER};
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

/// A script by itself.
fn script(name: &str, flags: &str) -> Run {
    within(r#"exec "$0" "$@""#, name, flags)
}

/// A script that a shell starts by `"$0" "$@"` after it has prepared something.
fn within(preparation: &str, name: &str, flags: &str) -> Run {
    // Brings the programs up to date.
    benchmarks::all();
    let programs = Path::new(RUNNER).parent().unwrap().display();
    let preparation = format!("export SWITCHCOST_BIN_DIR='{programs}'\n{preparation}");
    Run::within(&preparation, &path_of(name)).flags(flags)
}

/// A folder with links to these tools, to be all of PATH or its beginning.
fn folder_of(tools: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for tool in tools {
        let mut find = Command::new("sh");
        let found = find
            .args(["-c", r#"command -v "$0""#, tool])
            .output()
            .unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        symlink(found.trim(), folder.path().join(tool)).unwrap();
    }
    folder
}

/// A folder with a `pmap` that is this shell text.
fn folder_of_pmap(text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    executable(&folder.path().join("pmap"), &format!("#!/bin/sh\n{text}\n"));
    folder
}

/// Makes a script that can be run.
fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn every_script_explains_itself() {
    if !can_run(&["bash"]) {
        return;
    }
    for name in ["rss-per-thread.sh", "rss-per-task.sh", "raise-limits.sh"] {
        let help = script(name, "--help").finish().expect_quiet_success();
        for word in [&format!("Usage: {name}"), "Options:", "SWITCHCOST_BIN_DIR"] {
            assert!(help.stdout.contains(word), "'{word}' is missing: {help}");
        }
        let wide = help.stdout.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{help}");
    }
}
