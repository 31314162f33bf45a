//! Figures of records, and what they are worth.

mod basis;
pub mod claims;
pub(crate) mod conditions;
mod cube;
pub(crate) mod curves;
pub(crate) mod doubt;
pub(crate) mod doubts;
pub(crate) mod evidence;
mod figure;
pub mod finding;
pub mod grade;
pub(crate) mod known;
pub(crate) mod memory;
pub mod number;
pub(crate) mod pairs;
pub mod provenance;
pub mod runs;
pub(crate) mod sessions;
pub mod speed;
pub mod value;
pub mod verdict;

pub use basis::CONFIDENCE;
pub(crate) use basis::grouped;
pub use basis::unique;
pub use cube::Figures;
pub use figure::{Figure, Reading};
pub(crate) use figure::{Outcome, ratio};
