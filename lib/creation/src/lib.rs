//! What programs that create tasks share: the times of single spawns, tasks that sleep, and the depth of
//! their stacks.

mod depth;
mod single;
mod sleep;

pub use depth::{DepthFlags, use_stack};
pub use single::SpawnTimes;
pub use sleep::{Alive, SleepFlags, Sleepers, lateness};
