//! What goes wrong in mid-run, in the benchmark programs and around the runner.

mod tasks;
