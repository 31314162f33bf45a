//! `switchcost run` and `report`, with fakes in the place of programs: what they measure is known.

mod alone;
mod disks;
mod ends;
mod machine;
mod plans;
mod real;
mod slices;
mod turns;

use crate::support::RUNNER;
use crate::support::process::Run;

/// A run of the runner that needs no program.
fn switchcost(flags: &str) -> Run {
    Run::of(RUNNER).flags(flags)
}
