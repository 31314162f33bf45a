//! Statistics of benchmark results: pure functions over `&[f64]`. No clocks, no files, no printing.
//!
//! The unit of observation is the *process*, and these functions take one value for each (usually its mean).
//! Samples taken inside one process are correlated and share one placement: an interval made from them is far
//! too narrow, as a simulation in `tests.rs` shows. A ratio takes the two values of one round at the same
//! index.
//!
//! - Units pass through: nanoseconds in, nanoseconds out.
//! - Input without an answer gives `None`, never a NaN: no values, lengths that differ, a NaN or an infinity,
//!   a confidence outside 0..1, a result that overflows.
//! - No value is dropped as an outlier. No bound is clamped, at zero or elsewhere.

mod describe;
mod estimate;
mod interval;
mod line;
mod modes;
mod rank;

#[cfg(test)]
mod tests;

pub use describe::{mean, median, quantile};
pub use estimate::{Estimate, MIN_ROUNDS};
pub use interval::{CONFIDENCE, Contrast, Interval, t_critical, t_interval};
pub use line::{Line, fit_line, halves};
pub use modes::{Mode, modes};
pub use rank::rank_interval;
