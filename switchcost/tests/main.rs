//! Tests of whole programs. One binary: this file is its table of contents.
//!
//! No test asserts a time, or a size that varies. Where a tool or a right is missing, a test says `skipped: ...` on
//! standard error and passes.

#![expect(clippy::unwrap_used, reason = "a test's helpers may panic as the test itself does")]

/// What another user, a hostile file or a hostile environment may try against the runner.
mod attacks;
/// Any command as a row.
mod commands;
/// What `compare` may and must find, on invented and on real records.
mod compare;
/// Every measured program, held to docs/CONTRACT.md.
mod conformance;
/// `switchcost duel`: two builds in turns.
mod duel;
/// `switchcost estimate`: a running service.
mod estimate;
/// The order of the folders of its sources.
mod floors;
/// Every figure of the committed records, as it was.
mod golden;
/// `switchcost limits` on several distributions' systems.
mod limits;
/// What takes a right or a tool that not every machine gives.
mod privileged;
/// Whatever is parsed, fed with anything: properties that hold of every input.
mod properties;
/// What the committed records say of the method.
mod records;
/// What a file of records is made into: text, Markdown, CSV, JSON, and the page in a browser.
mod render;
/// `switchcost` itself.
mod runner;
/// The shell scripts.
mod scripts;
/// What the tests share.
mod support;
/// What is no command line.
mod usage;
