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
