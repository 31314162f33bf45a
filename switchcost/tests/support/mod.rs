use std::io::{self, Write};

/// The runner's executable, beside which the programs are.
pub(crate) const RUNNER: &str = env!("CARGO_BIN_EXE_switchcost");

/// Says why a test, or a part of it, could not be made here. Past the test harness, which would
/// keep it for itself when the test passes.
pub(crate) fn skip(why: &str) {
    // Where nobody listens, nothing is left to be done.
    let _ = writeln!(io::stderr(), "skipped: {why}");
}
