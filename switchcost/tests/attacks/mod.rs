//! The runner against other users, hostile files and hostile environments.

mod build;
mod cli;
mod programs;
mod report;
mod runs;
mod text;

use std::path::{Path, PathBuf};

use crate::support::RUNNER;
use crate::support::house::executable;
use crate::support::process::Run;

/// Records of four tables and a curve.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plan.jsonl");

/// A run of the runner that needs no benchmark program.
fn switchcost(flags: &str) -> Run {
    Run::of(RUNNER).flags(flags)
}

/// An executable shell script.
fn script(path: &Path, text: &str) -> PathBuf {
    executable(path, &format!("#!/bin/sh\n{text}\n"));
    path.to_owned()
}
