//! The runner: plan -> run -> analyse -> render, each stage a module, each able to start from
//! what the one before has left in a file.

pub mod analysis;
mod args;
pub mod cases;
pub mod cli;
pub mod compare;
pub mod execute;
pub mod extension;
pub mod memory;
pub mod plan;
pub mod programs;
pub mod render;
pub mod replace;
pub mod rounds;
pub mod stats;
pub mod store;
mod verbs;
mod warnings;
