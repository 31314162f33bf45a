//! The runner: plan -> run -> analyse -> render, each stage a module, each able to start from
//! what the one before has left in a file.

pub mod analysis;
pub mod answer;
mod args;
pub mod cases;
mod checkout;
pub mod cli;
pub mod compare;
pub mod conformance;
pub mod console;
pub mod course;
pub mod crossings;
pub mod doctor;
pub mod doubt;
pub mod duel;
pub mod evidence;
pub mod executable;
pub mod fleet;
mod lock;
pub mod measure;
pub mod memory;
pub mod notes;
mod oom;
mod origin;
pub mod pacing;
pub mod placement;
pub mod plan;
pub mod probe;
pub mod programs;
mod progress;
pub mod quiet;
pub mod range;
pub mod render;
pub mod replace;
pub mod rounds;
pub mod scratch;
pub mod setting;
pub mod signals;
pub mod store;
pub mod subject;
pub mod sweep;
#[cfg(test)]
mod testing;
mod tools;
mod verbs;

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// Beginning of the error of a case that was not tried.
pub const NOT_RUN: &str = "not run: ";
