//! The shell scripts of `scripts/`.

mod archive;
mod ci;
mod kernels;
mod rss;

use std::fs;
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

#[test]
fn shellcheck_finds_nothing() {
    if !can_run(&["shellcheck", "bash"]) {
        return;
    }
    let scripts = fs::read_dir(path_of("")).unwrap().chain(fs::read_dir(path_of("lib")).unwrap());
    let scripts = scripts.map(|entry| entry.unwrap().path());
    let scripts = scripts.filter(|path| path.extension().is_some_and(|e| e == "sh"));
    let run = scripts.fold(Run::of("shellcheck").arg("-x"), |run, path| run.arg(path));
    run.finish().expect_quiet_success();
}
