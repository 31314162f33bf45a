//! The runner: plan -> measure -> figures -> views -> render. Each stage is a folder, and knows only those
//! before it.

pub mod check;
pub mod cli;
pub mod figures;
pub mod measure;
pub mod plan;
pub mod render;
pub mod system;
#[cfg(test)]
mod testing;
mod verbs;
pub mod views;
