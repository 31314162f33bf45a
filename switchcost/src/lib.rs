//! The runner: plan -> measure -> (figures) -> views -> render. Each stage is a folder, or a crate, and knows only those
//! before it.

pub mod check;
pub mod cli;
pub mod measure;
pub mod plan;
pub mod render;
pub mod system;
#[cfg(test)]
#[path = "../../lib/figures/src/testing.rs"]
mod testing;
mod verbs;
pub mod views;
