//! What a brigade is made of: links between tasks, the tokens that travel, and the proof that each of
//! them visited every task.

mod builder;
mod fault;
mod flags;
mod latch;
mod link;
mod memory;
mod results;
mod together;
mod token;

pub use builder::{ChainBuilder, Station};
pub use fault::{Fault, FaultFlags, Misbehaviour, TaskFault};
pub use flags::{ChainFlags, ChainsFlags, ReadBuffer};
pub use latch::{StartGuard, StartLatch};
pub use link::{Reader, Transport, pass_on};
pub use memory::{Backlog, Injector, MemoryFlags, Next, TokenSource, Tokens};
pub use results::TaskResults;
pub use together::{ChainDriver, Times, conclude, drive_together};
pub use token::ByteTokens;
