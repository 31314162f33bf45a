//! Figures of records, and what they are worth.

mod basis;
pub mod conditions;
mod cube;
pub mod curves;
pub mod doubt;
pub mod doubts;
pub mod evidence;
mod figure;
pub mod finding;
pub mod grade;
pub mod known;
pub mod memory;
pub mod number;
pub mod pairs;
pub mod provenance;
pub mod runs;
pub mod speed;
pub mod verdict;

pub use basis::{CONFIDENCE, flag, grouped};
pub use cube::Figures;
pub use figure::{Figure, Outcome, Reading, ratio};
