//! Figures of records, and what they are worth: pure, without a clock, a process or a file.

mod basis;
pub mod claims;
pub mod conditions;
mod cube;
pub mod curves;
pub mod doubt;
pub mod doubts;
pub mod evidence;
mod figure;
pub mod grade;
pub mod known;
pub mod memory;
pub mod number;
pub mod pairs;
pub mod part;
pub mod provenance;
pub mod quotient;
pub mod runs;
pub mod session_spread;
pub mod sessions;
pub mod speed;
pub mod spread;
pub mod value;
pub mod verdict;
mod worse;

pub use basis::{grouped, unique};
pub use cube::Figures;
pub use figure::{Figure, Outcome, Reading, Related};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod trials;
