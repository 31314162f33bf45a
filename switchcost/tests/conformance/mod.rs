//! Each program of this workspace held to docs/CONTRACT.md, and the verb that does it.

mod chains;
pub(crate) mod programs;
mod promises;
mod verb;
mod work;
