//! Work that blocks beside an async runtime: where it is done, the threads that do it, and the
//! neighbours that notice it.

pub mod neighbours;
mod pool;
mod serve;
mod strategy;

pub use neighbours::Progress;
pub use pool::{Pool, Queue};
pub use serve::{Driven, serve};
pub use strategy::{BlockingFlags, Offload, Strategy};
