//! The runner against other users, hostile files and hostile environments.

mod build;
mod cli;
mod programs;
mod report;
mod runs;
mod text;

use crate::support::RUNNER;
use crate::support::process::Run;

/// Records of four tables and a curve.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plan.jsonl");

/// A run of the runner that needs no benchmark program.
fn switchcost(flags: &str) -> Run {
    Run::of(RUNNER).flags(flags)
}
