//! Each program of this workspace held to docs/CONTRACT.md, and the verb that does it.

mod pairs;
pub(crate) mod programs;
mod promises;
mod verb;
mod work;
