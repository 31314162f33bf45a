//! What every stage may use: the terminal, signals, locks and files.

pub mod console;
pub mod executable;
pub(crate) mod lock;
pub(crate) mod oom_killer;
pub(crate) mod progress;
pub mod replace;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod write;

pub use contract::signals;
