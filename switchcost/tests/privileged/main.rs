//! Tests that need a right or a tool which not every machine gives: root, control groups, strace. A
//! test that finds it missing says `skipped: ...` on standard error and passes.
//!
//! No test asserts a time, or a size that varies.

#![expect(clippy::unwrap_used, reason = "a test's helpers may panic as the test itself does")]

/// System calls of a hop, and what a sandbox denies: needs strace.
mod calls;
/// Limits of control groups, and the OOM killer: needs root.
mod groups;
/// A system without /proc: needs root.
mod proc;
/// What others do to a process that measures: signals, another set of CPUs.
mod strangers;
#[allow(dead_code, reason = "the other binary uses the rest")]
#[path = "../support/mod.rs"]
mod support;
