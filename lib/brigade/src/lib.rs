//! Parts of a brigade, for programs that own their loop: links between tasks, the tokens that travel, the latch that
//! opens when all tasks run, stacks and CPUs of threads, and the proof that each token visited each task.

mod flags;
pub mod futex;
mod gate;
mod latch;
mod link;
mod needs;
mod placement;
pub mod process;
mod proof;
mod slot;
mod stack;
mod token;

pub use flags::ChainFlags;
pub use gate::{Gate, hold, wait_at};
pub use latch::{StartGuard, StartLatch};
pub use link::{LinkFlags, Transport};
pub use needs::worker_needs;
pub use placement::{Placement, allowed_cpus, pin, restrict};
pub use proof::conclude;
pub use slot::{FutexReceiver, FutexSender, futex_link};
pub use stack::{StackFlags, join};
pub use token::{Number, Tokens};
