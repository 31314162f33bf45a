//! Each program of this workspace held to docs/CONTRACT.md, and the verb that does it.

pub(crate) mod programs;
mod promises;
mod verb;
