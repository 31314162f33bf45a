//! What a brigade is made of: links between tasks, the tokens that travel, and the proof that each of
//! them visited every task.

mod builder;
mod fault;
mod flags;
mod idle;
mod latch;
mod link;
mod memory;
mod pass;
mod results;
mod token;
mod touch;

pub use builder::{ChainBuilder, Station};
pub use fault::{Fault, FaultFlags, Misbehaviour, TaskFault};
pub use flags::{ChainFlags, ReadBuffer};
pub use idle::PollCount;
pub use latch::{StartGuard, StartLatch};
pub use link::{Reader, Transport};
pub use memory::{Backlog, Buffer, Injector, MemoryFlags, MemoryToken, Tokens};
pub use pass::pass_on;
pub use results::TaskResults;
pub use token::{ByteTokens, Pattern, TokenBuffer};
pub use touch::WorkingSet;
