//! The statistics of the runner: pure functions over `&[f64]`, no clocks, no files, no printing.
//!
//! The unit of observation is the *process*. Samples taken inside one process are correlated and
//! share one placement, so an interval made from them is far too narrow; `tests.rs` shows by
//! simulation how far. Hand these functions one value per fresh process (usually its mean) and,
//! for a ratio or a difference, the two values of the same round at the same index.
//!
//! Conventions that hold throughout:
//!
//! - Units pass through: nanoseconds in, nanoseconds out.
//! - Input that has no answer (empty, lengths that differ, a NaN or an infinity, a confidence
//!   outside 0..1, a result that overflows) gives `None`, never a NaN and never a guess.
//! - Nothing is dropped as an outlier and no bound is clamped, at zero or elsewhere.

mod describe;
mod distribution;
mod estimate;
mod interval;
mod line;
mod modes;
mod rank;
mod significance;
mod theil_sen;

#[cfg(test)]
mod tests;

pub use describe::{Outliers, mean, median, quantile, sample_sd, tukey_outliers};
pub use estimate::{Estimate, MIN_ROUNDS, planned_rounds};
pub use interval::{
    Interval, difference_interval, ratio_interval, t_interval, welch_difference_interval,
    welch_ratio_interval,
};
pub use line::{Halves, Line, fit_line, halves, slope_ratio};
pub use modes::{Mode, modes};
pub use rank::{MannWhitney, mann_whitney};
pub use significance::{holm, slope_ratio_p, welch_ratio_p};
pub use theil_sen::{TheilSen, theil_sen};
