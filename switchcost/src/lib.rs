//! The runner. Its stages are system, plan, measure, views, render, check and verbs: each folder uses only those before it.
//! SessionSpread measure and views stands the crate `figures`.

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
