//! What programs that create tasks share: the times of single spawns, and tasks that sleep.

mod single;
mod sleep;

pub use single::SpawnTimes;
pub use sleep::{Alive, SleepFlags, Sleepers, lateness};
