//! Straight lines by ordinary least squares, and a robust slope: bytes per task from task counts.

use serde::Serialize;

use crate::describe::{finite, mean, quantile_sorted, sorted, squares_about, usable};
use crate::interval::{Contrast, Interval, t_critical};

/// Line y = intercept + slope · x by ordinary least squares, for independent points of equal variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Slope with its t interval (n − 2 degrees of freedom), in units of y per unit of x.
    pub slope: Interval,
    /// Standard error of the slope.
    pub slope_se: f64,
    /// Intercept with its t interval, in units of y: the fixed cost.
    pub intercept: Interval,
    /// Share of the variance of y explained by the line; absent when y does not vary.
    pub r_squared: Option<f64>,
    /// Number of points.
    pub n: usize,
}

/// Least-squares line through at least three points with at least two distinct x.
pub fn fit_line(x: &[f64], y: &[f64], confidence: f64) -> Option<Line> {
    let n = x.len();
    if n < 3 || y.len() != n {
        return None;
    }
    let (mean_x, mean_y) = (mean(x)?, mean(y)?);
    let sxx = squares_about(x, mean_x);
    let syy = squares_about(y, mean_y);
    let sxy: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if sxx <= 0.0 {
        return None;
    }
    let slope = finite(sxy / sxx)?;
    let intercept = mean_y - slope * mean_x;
    // Residuals of the centred points: syy − slope · sxy cancels when the fit is good.
    let residuals = x.iter().zip(y).map(|(x, y)| (y - mean_y) - slope * (x - mean_x));
    let rss: f64 = residuals.map(|residual| residual.powi(2)).sum();
    let freedom = (n - 2) as f64;
    let residual_sd = (rss / freedom).sqrt();
    let slope_se = residual_sd / sxx.sqrt();
    let intercept_se = residual_sd * (1.0 / n as f64 + mean_x * mean_x / sxx).sqrt();
    let t = t_critical(confidence, freedom)?;
    Some(Line {
        slope: Interval::around(slope, t * slope_se, n, confidence)?,
        slope_se,
        intercept: Interval::around(intercept, t * intercept_se, n, confidence)?,
        r_squared: finite(1.0 - rss / syy),
        n,
    })
}

/// Slopes of the lower and the upper half of x: a test of linearity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Halves {
    /// Slope over the lower half of the distinct x.
    pub lower: Interval,
    /// Slope over the upper half.
    pub upper: Interval,
    /// True if the two intervals do not overlap: the points do not follow one line.
    pub differ: bool,
}

impl Halves {
    /// Change of slope from the lower to the upper half, as a share of the lower slope; `None` when that is zero.
    /// With little noise `differ` is true even of a small change.
    pub fn bend(&self) -> Option<f64> {
        finite((self.upper.estimate - self.lower.estimate) / self.lower.estimate.abs())
    }
}

/// Lines through each half of x, split between two distinct x: with an odd number of them the middle one goes
/// to the lower half. `None` when a half has under three points or a single x.
pub fn halves(x: &[f64], y: &[f64], confidence: f64) -> Option<Halves> {
    if x.len() != y.len() || !usable(x) {
        return None;
    }
    let mut levels = sorted(x);
    levels.dedup();
    let last_low = levels[(levels.len() - 1) / 2];
    let points = x.iter().zip(y).map(|(&x, &y)| (x, y));
    let (low, high): (Vec<_>, Vec<_>) = points.partition(|&(x, _)| x <= last_low);
    let (lower, upper) = (slope(low, confidence)?, slope(high, confidence)?);
    Some(Halves { lower, upper, differ: lower.high < upper.low || upper.high < lower.low })
}

fn slope(points: Vec<(f64, f64)>, confidence: f64) -> Option<Interval> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    Some(fit_line(&x, &y, confidence)?.slope)
}

/// Logarithm of the ratio of two slopes, from lines fitted to different runs and from the relative
/// standard errors of both (the delta method). `None` unless the lower bounds of both are positive.
pub fn log_slope_ratio(a: &Line, b: &Line) -> Option<Contrast> {
    if a.slope.low <= 0.0 || b.slope.low <= 0.0 {
        return None;
    }
    let (slope_a, slope_b) = (a.slope.estimate, b.slope.estimate);
    Some(Contrast {
        estimate: finite((slope_a / slope_b).ln())?,
        error: finite((a.slope_se / slope_a).hypot(b.slope_se / slope_b))?,
        // Each line has n − 2 degrees of freedom.
        freedom: (a.n + b.n) as f64 - 4.0,
        n: a.n.min(b.n),
    })
}

impl Contrast {
    /// Logarithm of a slope. `None` unless its lower bound is positive.
    pub fn log_slope(line: &Line) -> Option<Self> {
        (line.slope.low > 0.0).then_some(Contrast {
            estimate: line.slope.estimate.ln(),
            error: line.slope_se / line.slope.estimate,
            freedom: line.n as f64 - 2.0,
            n: line.n,
        })
    }
}

/// Theil–Sen line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TheilSen {
    /// Median of the slopes of all pairs of points with distinct x, in units of y per unit of x.
    pub slope: f64,
}

/// Theil–Sen line through at least two points with distinct x.
pub fn theil_sen(x: &[f64], y: &[f64]) -> Option<TheilSen> {
    if x.len() != y.len() || !usable(x) || !usable(y) {
        return None;
    }
    let mut slopes = Vec::new();
    for i in 0..x.len() {
        let pairs = (0..i).filter(|&j| x[i] != x[j]);
        slopes.extend(pairs.map(|j| (y[i] - y[j]) / (x[i] - x[j])));
    }
    slopes.sort_unstable_by(f64::total_cmp);
    Some(TheilSen { slope: quantile_sorted(&slopes, 0.5)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MEMORY_X, MEMORY_Y, close};

    fn golden(actual: Interval, [estimate, low, high]: [f64; 3]) {
        close(actual.estimate, estimate, 1e-9);
        close(actual.low, low, 1e-9);
        close(actual.high, high, 1e-9);
    }

    #[test]
    fn intervals_match_scipy() {
        // scipy 1.17.1: r = stats.linregress(X, Y); t = stats.t.ppf(0.975, 22);
        // r.slope, r.slope ± t * r.stderr; r.intercept, r.intercept ± t * r.intercept_stderr
        let line = fit_line(&MEMORY_X, &MEMORY_Y, 0.95).unwrap();
        golden(line.slope, [9794.421123010707, 9788.787411062513, 9800.0548349589]);
        golden(line.intercept, [2105912.900276918, 2100222.2585847625, 2111603.5419690735]);
        // From exact fractions.
        close(line.r_squared.unwrap(), 0.9999983076533289, 1e-14);
    }

    #[test]
    fn halves_match_scipy() {
        // scipy 1.17.1: stats.linregress of X <= 500 and of X > 500, slope ± t(10) * stderr
        let halves = halves(&MEMORY_X, &MEMORY_Y, 0.95).unwrap();
        for (half, expected) in [
            (halves.lower, [9748.851519274376, 9724.891134979067, 9772.811903569685]),
            (halves.upper, [9801.003537414967, 9791.863944638295, 9810.143130191638]),
        ] {
            golden(half, expected);
            assert_eq!(half.n, 12);
        }
        // Half a percent steeper: small, but significant with so little noise.
        assert!(halves.differ);
        close(halves.bend().unwrap(), 9801.003537414967 / 9748.851519274376 - 1.0, 1e-8);
    }

    #[test]
    fn slopes_match_scipy() {
        // scipy 1.17.1: r, s = linregress(X, Y), linregress(X[:15], Y[:15]);
        // se = np.hypot(r.stderr / r.slope, s.stderr / s.slope);
        // p = 2 * stats.t.sf(abs(np.log(s.slope / r.slope)) / se, 24 + 15 - 4)
        let p = 0.008400090892020163;
        let all = fit_line(&MEMORY_X, &MEMORY_Y, 0.95).unwrap();
        let some = fit_line(&MEMORY_X[..15], &MEMORY_Y[..15], 0.95).unwrap();
        let at_p = log_slope_ratio(&some, &all).unwrap().ratio(1.0 - p).unwrap();
        close(if at_p.estimate > 1.0 { at_p.low } else { at_p.high }, 1.0, 1e-9);
    }

    #[test]
    fn repeats_of_an_x_stay_together() {
        let x = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0];
        let halves = halves(&x, &x, 0.95).unwrap();
        assert_eq!((halves.lower.n, halves.upper.n), (7, 4));
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        for (x, y) in [
            (&[][..], &[][..]),
            (&[2.0; 4], &[1.0, 2.0, 3.0, 4.0]),
            (&[1.0, 2.0, 3.0], &[1.0, 2.0]),
            (&[1.0, 2.0, 3.0], &[1.0, 2.0, f64::NAN]),
        ] {
            assert_eq!(fit_line(x, y, 0.95), None, "{x:?} {y:?}");
            assert_eq!(halves(x, y, 0.95), None, "{x:?} {y:?}");
            assert_eq!(theil_sen(x, y), None, "{x:?} {y:?}");
        }
        assert_eq!(fit_line(&[1.0, 2.0], &[1.0, 2.0], 0.95), None);
    }

    #[test]
    fn only_slopes_above_zero_have_a_ratio() {
        let rising = fit_line(&MEMORY_X, &MEMORY_Y, 0.95).unwrap();
        let falling = fit_line(&MEMORY_X, &MEMORY_Y.map(|y| -y), 0.95).unwrap();
        assert_eq!(log_slope_ratio(&rising, &rising).unwrap().estimate, 0.0);
        assert_eq!(log_slope_ratio(&rising, &falling), None);
        // A flat line has no R².
        assert_eq!(fit_line(&MEMORY_X, &[7.0; 24], 0.95).unwrap().r_squared, None);
    }

    #[test]
    fn robust_slopes_match_scipy() {
        // scipy 1.17.1: stats.theilslopes(Y, X, 0.95)[0]
        close(theil_sen(&MEMORY_X, &MEMORY_Y).unwrap().slope, 9791.595789473684, 1e-12);
        // Ties in y, one outlier.
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let y = [2.0, 4.0, 4.0, 8.0, 9.0, 13.0, 13.0, 40.0];
        close(theil_sen(&x, &y).unwrap().slope, 2.225, 1e-12);
    }
}
