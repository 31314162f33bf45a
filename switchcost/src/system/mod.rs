//! What every stage may use: the terminal, signals, locks and files.

pub mod console;
pub(crate) mod lock;
pub(crate) mod oom_killer;
pub mod program;
pub(crate) mod progress;
pub mod replace;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod write;

pub use host::signals;
