//! Measuring: live programs that take turns, and what the machine does meanwhile. Records come out.

pub mod around;
pub(crate) mod begin;
pub mod campaign;
pub mod child;
pub mod groups;
pub(crate) mod launch;
mod live;
pub(crate) mod needs;
mod options;
pub mod pace;
pub mod pacing;
mod privacy;
pub mod probe;
pub mod rounds;
pub mod session;
pub mod store;
mod tally;
pub mod turns;
pub(crate) mod watch;
