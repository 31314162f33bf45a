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
mod distribution;
mod estimate;
mod interval;
mod line;
mod modes;
mod theil_sen;

#[cfg(test)]
mod tests;

pub use describe::{median, outliers, quantile};
pub use distribution::t_critical;
pub use estimate::{Estimate, MIN_ROUNDS};
pub use interval::{Contrast, Interval, t_interval};
pub use line::{Halves, Line, fit_line, halves, log_slope_ratio, slope_ratio};
pub use modes::{Mode, modes};
pub use theil_sen::{TheilSen, theil_sen};
