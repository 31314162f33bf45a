//! The runner against other users, hostile files and hostile environments.

mod build;
mod cli;
mod programs;
mod report;
mod runs;
mod text;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::RUNNER;
use crate::support::process::Run;

/// Records of four tables and a curve.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plan.jsonl");

/// A run of the runner that needs no benchmark program.
fn switchcost(flags: &str) -> Run {
    Run::of(RUNNER).flags(flags)
}

/// An executable shell script.
fn script(path: &Path, text: &str) -> PathBuf {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}
