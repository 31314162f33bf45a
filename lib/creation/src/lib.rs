//! What programs that create tasks share: tasks that sleep, and the depth of their stacks.

mod depth;
mod sleep;

pub use depth::{DepthFlags, use_stack};
pub use sleep::{Alive, SleepFlags, Sleepers, lateness};
