//! The toolbox that every benchmark program shares: arguments, limits, links, a recorder, a
//! record. It is a library, not a framework: each program keeps its own timed loop in plain
//! sight, and nothing of this crate runs inside the timed region, but for what is itself measured:
//! the creation of a thread ([`threads`]), and the sleep and the wake-up of one ([`futex`]).
//!
//! A program's `main` is one call of [`main`], with the function that measures:
//!
//! 1. parse the command line ([`args`]), confine the process to its CPUs ([`placement`]);
//! 2. compare what the run needs with what the system allows ([`Session::require`], [`limits`]);
//! 3. build the chain ([`links`], [`threads`]) and wait until every task is there ([`ready`]);
//! 4. time the laps ([`laps`]);
//! 5. look at the memory while every task is alive ([`Session::at_rest`]);
//! 6. tear down, verify, and report ([`record`], [`report`]).

pub mod args;
pub mod berth;
pub mod cache_line;
pub mod children;
mod command;
pub mod console;
pub mod counters;
pub mod delays;
mod demand;
mod disturbance;
mod fault;
pub mod feed;
pub mod file_system;
pub mod forked;
pub mod futex;
pub mod interrupts;
pub mod laps;
pub mod limits;
pub mod links;
pub mod machine;
pub mod message;
pub mod notes;
pub mod order;
pub mod panics;
pub mod payload;
pub mod placement;
pub mod plain;
pub mod policy;
mod processes;
pub mod rate;
pub mod ready;
pub mod record;
pub mod recorder;
pub mod report;
mod session;
pub mod signals;
pub mod sleepers;
pub mod tally;
pub mod test_fault;
pub mod threads;
pub mod timer_slack;
pub mod touch;
pub mod units;
pub mod usage;
pub mod waits;
pub mod wiring;
pub mod workers;

pub use fault::{BadUsage, Interrupted, link_ended};
pub use session::{Program, Session, main};
