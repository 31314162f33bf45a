//! Straight lines by ordinary least squares: bytes per task from task counts.

use serde::Serialize;

use crate::describe::{finite, mean, sorted, squares_about, usable};
use crate::distribution::t_critical;
use crate::interval::{Contrast, Interval};

/// Line y = intercept + slope · x by ordinary least squares.
///
/// The standard errors assume independent points of equal variance. [`crate::theil_sen`] assumes
/// neither normality nor equal variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Slope with its t interval (n − 2 degrees of freedom), in units of y per unit of x.
    pub slope: Interval,
    /// Standard error of the slope.
    pub slope_se: f64,
    /// Intercept with its t interval, in units of y: the fixed
    /// cost.
    pub intercept: Interval,
    /// Standard error of the intercept.
    pub intercept_se: f64,
    /// Share of the variance of y explained by the line; absent when y does not vary.
    pub r_squared: Option<f64>,
    /// Standard deviation of the residuals (divisor n − 2), in units of y.
    pub residual_sd: f64,
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
    let residual = |(x, y): (&f64, &f64)| (y - mean_y) - slope * (x - mean_x);
    let rss: f64 = x.iter().zip(y).map(|point| residual(point).powi(2)).sum();
    let freedom = (n - 2) as f64;
    let residual_sd = (rss / freedom).sqrt();
    let slope_se = residual_sd / sxx.sqrt();
    let intercept_se = residual_sd * (1.0 / n as f64 + mean_x * mean_x / sxx).sqrt();
    let t = t_critical(confidence, freedom)?;
    Some(Line {
        slope: Interval::around(slope, t * slope_se, n, confidence)?,
        slope_se,
        intercept: Interval::around(intercept, t * intercept_se, n, confidence)?,
        intercept_se,
        r_squared: finite(1.0 - rss / syy),
        residual_sd,
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
    /// Change of slope from the lower to the upper half, as a share of the lower slope. With little
    /// noise `differ` is true even of a small change. `None` when the lower slope is zero.
    pub fn bend(&self) -> Option<f64> {
        finite((self.upper.estimate - self.lower.estimate) / self.lower.estimate.abs())
    }
}

/// Lines through each half of x.
///
/// The split falls between two distinct x, so that repeats of one x stay together. With an odd
/// number of distinct x the middle one goes to the lower half. `None` when a half has under three
/// points or a single x.
pub fn halves(x: &[f64], y: &[f64], confidence: f64) -> Option<Halves> {
    if x.len() != y.len() || !usable(x) {
        return None;
    }
    let mut levels = sorted(x);
    levels.dedup();
    let last_low = levels[(levels.len() - 1) / 2];
    let slope_of = |low: bool| {
        let half = x.iter().zip(y).filter(|(x, _)| (**x <= last_low) == low);
        let (x, y): (Vec<f64>, Vec<f64>) = half.unzip();
        fit_line(&x, &y, confidence).map(|line| line.slope)
    };
    let (lower, upper) = (slope_of(true)?, slope_of(false)?);
    Some(Halves { lower, upper, differ: lower.high < upper.low || upper.high < lower.low })
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

/// Interval of the ratio of two slopes: see [`log_slope_ratio`].
pub fn slope_ratio(a: &Line, b: &Line, confidence: f64) -> Option<Interval> {
    log_slope_ratio(a, b)?.ratio(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MEMORY_X, MEMORY_Y, close};

    /// NIST StRD, Norris.dat (linear regression, lower difficulty): y, x.
    #[rustfmt::skip]
    const NORRIS: [(f64, f64); 36] = [
        (0.1, 0.2), (338.8, 337.4), (118.1, 118.2), (888.0, 884.6), (9.2, 10.1), (228.1, 226.5),
        (668.5, 666.3), (998.5, 996.3), (449.1, 448.6), (778.9, 777.0), (559.2, 558.2), (0.3, 0.4),
        (0.1, 0.6), (778.1, 775.5), (668.8, 666.9), (339.3, 338.0), (448.9, 447.5), (10.8, 11.6),
        (557.7, 556.0), (228.3, 228.1), (998.0, 995.8), (888.8, 887.6), (119.6, 120.2), (0.3, 0.3),
        (0.6, 0.3), (557.6, 556.8), (339.3, 339.1), (888.0, 887.2), (998.5, 999.0), (778.9, 779.0),
        (10.2, 11.1), (117.6, 118.3), (228.9, 229.2), (668.4, 669.1), (449.2, 448.9), (0.2, 0.5),
    ];

    #[test]
    fn norris_matches_the_certified_values() {
        let (y, x): (Vec<f64>, Vec<f64>) = NORRIS.into_iter().unzip();
        let line = fit_line(&x, &y, 0.95).unwrap();
        close(line.intercept.estimate, -0.262323073774029, 1e-11);
        close(line.intercept_se, 0.232818234301152, 1e-12);
        close(line.slope.estimate, 1.00211681802045, 1e-13);
        close(line.slope_se, 0.429796848199937e-3, 1e-12);
        close(line.residual_sd, 0.884796396144373, 1e-12);
        close(line.r_squared.unwrap(), 0.999993745883712, 1e-14);
        assert_eq!(line.n, 36);
    }

    #[test]
    fn intervals_match_scipy() {
        // scipy 1.17.1: r = stats.linregress(X, Y); t = stats.t.ppf(0.975, 22);
        // r.slope, r.slope ± t * r.stderr; r.intercept, r.intercept ± t * r.intercept_stderr
        let line = fit_line(&MEMORY_X, &MEMORY_Y, 0.95).unwrap();
        let slope = [line.slope.estimate, line.slope.low, line.slope.high];
        let intercept = [line.intercept.estimate, line.intercept.low, line.intercept.high];
        for (actual, expected) in
            slope.into_iter().zip([9794.421123010707, 9788.787411062513, 9800.0548349589])
        {
            close(actual, expected, 1e-11);
        }
        for (actual, expected) in
            intercept.into_iter().zip([2105912.900276918, 2100222.2585847625, 2111603.5419690735])
        {
            close(actual, expected, 1e-9);
        }
    }

    #[test]
    fn halves_match_scipy() {
        // scipy 1.17.1: stats.linregress of X <= 500 and of X > 500, slope ± t(10) * stderr
        let halves = halves(&MEMORY_X, &MEMORY_Y, 0.95).unwrap();
        for (half, expected) in [
            (halves.lower, [9748.851519274376, 9724.891134979067, 9772.811903569685]),
            (halves.upper, [9801.003537414967, 9791.863944638295, 9810.143130191638]),
        ] {
            close(half.estimate, expected[0], 1e-10);
            close(half.low, expected[1], 1e-10);
            close(half.high, expected[2], 1e-10);
            assert_eq!(half.n, 12);
        }
        // Half a percent steeper: small, but significant with so little noise.
        assert!(halves.differ);
        close(halves.bend().unwrap(), 9801.003537414967 / 9748.851519274376 - 1.0, 1e-8);
    }

    #[test]
    fn change_of_slope_is_found() {
        let x: Vec<f64> = (0..24).map(|i| f64::from(i / 3)).collect();
        let ripple = [-0.1, 0.0, 0.1].into_iter().cycle();
        let bent: Vec<f64> = x.iter().zip(ripple).map(|(x, e)| x.max(2.0 * x - 4.0) + e).collect();
        let halves = halves(&x, &bent, 0.95).unwrap();
        assert!(halves.differ);
        assert!(halves.lower.contains(1.0) && halves.upper.contains(2.0));
    }

    #[test]
    fn repeats_of_an_x_stay_together() {
        let x = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0];
        let halves = halves(&x, &x, 0.95).unwrap();
        assert_eq!((halves.lower.n, halves.upper.n), (7, 4));
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        assert_eq!(fit_line(&[], &[], 0.95), None);
        assert_eq!(fit_line(&[1.0, 2.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(fit_line(&[2.0; 4], &[1.0, 2.0, 3.0, 4.0], 0.95), None);
        assert_eq!(fit_line(&[1.0, 2.0, 3.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(fit_line(&[1.0, 2.0, f64::NAN], &[1.0, 2.0, 3.0], 0.95), None);
        assert_eq!(fit_line(&[1.0, 2.0, 3.0], &[1.0, 2.0, f64::NAN], 0.95), None);
        assert_eq!(fit_line(&[1.0, 2.0, 3.0], &[1e200, -1e200, 1e200], 0.95), None);
        assert_eq!(halves(&[], &[], 0.95), None);
        assert_eq!(halves(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], 0.95), None);
    }

    #[test]
    fn a_flat_line_has_no_r_squared() {
        let line = fit_line(&[1.0, 2.0, 3.0, 4.0], &[7.0; 4], 0.95).unwrap();
        assert_eq!((line.slope.estimate, line.intercept.estimate), (0.0, 7.0));
        assert_eq!(line.r_squared, None);
    }

    #[test]
    fn a_slope_divided_by_itself_is_one_within_its_error() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let y = [2.1, 3.9, 6.2, 7.8, 10.1, 11.9];
        let line = fit_line(&x, &y, 0.95).unwrap();
        let ratio = slope_ratio(&line, &line, 0.95).unwrap();
        assert_eq!(ratio.estimate, 1.0);
        // The error of one slope counts twice: sqrt(2) times, at t(0.975, 8) = 2.306004135 (scipy).
        let reach = 2.306_004_135 * 2f64.sqrt() * line.slope_se / line.slope.estimate;
        assert!((ratio.high.ln() - reach).abs() < 1e-9);
        assert!((ratio.low * ratio.high - 1.0).abs() < 1e-12);
        let falling: Vec<f64> = y.iter().map(|y| -y).collect();
        let falling = fit_line(&x, &falling, 0.95).unwrap();
        assert_eq!(slope_ratio(&line, &falling, 0.95), None);
    }
}
