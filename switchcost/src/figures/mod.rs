//! Figures: what records say, before anybody asks for a view.

pub mod analysis;
pub mod cases;
pub mod change_point;
pub mod doubt;
pub mod duel;
pub mod evidence;
pub mod memory;
pub mod notes;
pub mod number;

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
