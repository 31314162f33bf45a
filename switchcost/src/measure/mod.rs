//! Measuring: live programs that take turns, and what the machine does meanwhile. Records come out.

mod alive;
pub mod around;
pub(crate) mod begin;
pub mod campaign;
pub mod deadline;
pub mod groups;
pub(crate) mod launch;
mod live;
pub mod pacing;
mod privacy;
pub mod probe;
pub(crate) mod process_group;
pub mod rounds;
mod seat;
pub mod session;
pub mod store;
pub mod turns;
pub(crate) mod watch;
