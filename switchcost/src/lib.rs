//! The runner: plan -> run -> analyse -> render, each stage a module, each able to start from
//! what the one before has left in a file.

pub mod analysis;
mod args;
pub mod bend;
pub mod cases;
pub mod cli;
pub mod compare;
pub mod execute;
pub mod extension;
pub mod fits;
pub mod memory;
pub mod plan;
pub mod probe;
pub mod programs;
pub mod range;
pub mod render;
pub mod replace;
pub mod rounds;
pub mod scratch;
pub mod stats;
pub mod store;
pub mod sweep;
mod verbs;
mod warnings;
pub mod working_set;
