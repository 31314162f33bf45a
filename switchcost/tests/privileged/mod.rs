//! Tests that need a right or a tool which not every machine gives: root, control groups, strace.

/// System calls of a hop, and what a sandbox denies: needs strace.
mod calls;
/// Limits of control groups, and the OOM killer: needs root.
mod groups;
/// A system without /proc: needs root.
mod proc;
/// What others do to a process that measures: signals, another set of CPUs.
mod strangers;
