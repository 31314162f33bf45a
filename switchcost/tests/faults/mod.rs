//! What goes wrong in mid-run, in the benchmark programs and around the runner.

mod signals;
mod tasks;

use crate::support::benchmarks::{Benchmark, all};

/// The benchmarks whose tasks can be told to end: the chains.
fn chains() -> impl Iterator<Item = &'static Benchmark> {
    // The flag is in no help.
    let chain = |b: &&Benchmark| b.has("--tokens") && b.name != "one-thread-brigade";
    all().iter().filter(chain)
}
