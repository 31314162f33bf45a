//! Tests of whole programs. One binary: this file is its table of contents.
//!
//! No test asserts a time. Where a tool or a right is missing, a test says `skipped: ...` on
//! standard error and passes.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may panic as the test itself does"
)]

/// Every measured program, held to docs/CONTRACT.md.
mod conformance;
/// What the tests share.
mod support;

/// What another user, a hostile file or a hostile environment may try against the runner.
mod attacks;
/// What `compare` may and must find, on invented and on real records.
mod compare;
/// Every benchmark program: its flags, its output, its record.
mod contract;
/// What goes wrong in mid-run: tasks, signals, CPUs, children, disks, other runners.
mod faults;
/// Where much is missing or forbidden: no /proc, a system-call filter, a read-only system, one CPU,
/// a CPU quota.
mod hostile;
/// Every benchmark program, at SIGINT and SIGTERM.
mod interrupt;
/// Every benchmark program, with too little of what it needs.
mod limits;
/// Whatever is parsed, fed with anything: properties that hold of every input.
mod properties;
/// What a file of records is made into: text, Markdown, CSV, JSON, and the page in a browser.
mod render;
/// `switchcost` itself.
mod runner;
/// The shell scripts.
mod scripts;
/// The executors and the modes of the ring of the brigade on io_uring.
mod uring;
