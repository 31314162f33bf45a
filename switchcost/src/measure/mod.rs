//! Measuring: live programs that take turns, and what the machine does meanwhile. Records come out.

pub mod groups;
pub mod session;
mod sums;
pub mod turns;
pub(crate) mod watch;
