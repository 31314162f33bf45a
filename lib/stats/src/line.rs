//! Straight lines by ordinary least squares: bytes per task from task counts.

use serde::Serialize;

use crate::describe::{finite, mean, sorted, squares_about, usable};
use crate::interval::{CONFIDENCE, Contrast, Interval};

/// Line y = intercept + slope · x by ordinary least squares, for independent points of equal variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Slope with its t interval (n − 2 degrees of freedom), in units of y per unit of x.
    pub slope: Interval,
    pub slope_se: f64,
    /// Fixed cost, in units of y.
    pub intercept: f64,
    /// Share of the variance of y explained by the line; absent when y does not vary.
    pub r_squared: Option<f64>,
}

/// Least-squares line through at least three points with at least two distinct x.
pub fn fit_line(x: &[f64], y: &[f64]) -> Option<Line> {
    let n = x.len();
    if y.len() != n {
        return None;
    }
    let (mean_x, mean_y) = (mean(x)?, mean(y)?);
    let sxx = squares_about(x, mean_x);
    let syy = squares_about(y, mean_y);
    let sxy: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if sxx <= 0.0 {
        return None;
    }
    let estimate = finite(sxy / sxx)?;
    // Residuals of the centred points: syy − slope · sxy cancels when the fit is good.
    let residuals = x.iter().zip(y).map(|(x, y)| (y - mean_y) - estimate * (x - mean_x));
    let rss: f64 = residuals.map(|residual| residual.powi(2)).sum();
    // One x has no slope, and two points have no error.
    let freedom = (n - 2) as f64;
    let error = (rss / freedom).sqrt() / sxx.sqrt();
    Some(Line {
        slope: Contrast { estimate, error, freedom, n }.interval(CONFIDENCE)?,
        slope_se: error,
        intercept: finite(mean_y - estimate * mean_x)?,
        r_squared: finite(1.0 - rss / syy),
    })
}

/// Slopes of the lower and of the upper half of x, split between two distinct x: with an odd number of them the middle one
/// goes to the lower half. `None` when a half has under three points or a single x.
pub fn halves(x: &[f64], y: &[f64]) -> Option<[Interval; 2]> {
    if x.len() != y.len() || !usable(x) {
        return None;
    }
    let mut levels = sorted(x);
    levels.dedup();
    let last_low = levels[(levels.len() - 1) / 2];
    let points = x.iter().zip(y).map(|(&x, &y)| (x, y));
    let (low, high): (Vec<_>, Vec<_>) = points.partition(|&(x, _)| x <= last_low);
    Some([slope(low)?, slope(high)?])
}

fn slope(points: Vec<(f64, f64)>) -> Option<Interval> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    Some(fit_line(&x, &y)?.slope)
}

impl Contrast {
    /// Logarithm of a slope with its relative standard error (the delta method). `None` unless its lower bound is positive.
    pub fn log_slope(line: &Line) -> Option<Self> {
        (line.slope.low > 0.0).then_some(Contrast {
            estimate: line.slope.estimate.ln(),
            error: line.slope_se / line.slope.estimate,
            freedom: line.slope.n as f64 - 2.0,
            n: line.slope.n,
        })
    }
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
        // r.slope, r.slope ± t * r.stderr; r.intercept
        let line = fit_line(&MEMORY_X, &MEMORY_Y).unwrap();
        golden(line.slope, [9794.421123010707, 9788.787411062513, 9800.0548349589]);
        close(line.intercept, 2105912.900276918, 1e-12);
        // From exact fractions.
        close(line.r_squared.unwrap(), 0.9999983076533289, 1e-14);
    }

    #[test]
    fn halves_match_scipy() {
        // scipy 1.17.1: stats.linregress of X <= 500 and of X > 500, slope ± t(10) * stderr
        let halves = halves(&MEMORY_X, &MEMORY_Y).unwrap();
        for (half, expected) in [
            (halves[0], [9748.851519274376, 9724.891134979067, 9772.811903569685]),
            (halves[1], [9801.003537414967, 9791.863944638295, 9810.143130191638]),
        ] {
            golden(half, expected);
            assert_eq!(half.n, 12);
        }
    }

    #[test]
    fn slopes_match_scipy() {
        // scipy 1.17.1: r, s = linregress(X, Y), linregress(X[:15], Y[:15]);
        // a, b = r.stderr / r.slope, s.stderr / s.slope; f = (a**2 + b**2)**2 / (a**4 / 22 + b**4 / 13);
        // p = 2 * stats.t.sf(abs(np.log(s.slope / r.slope)) / np.hypot(a, b), f)
        let p = 0.013218150797307468;
        let all = fit_line(&MEMORY_X, &MEMORY_Y).unwrap();
        let some = fit_line(&MEMORY_X[..15], &MEMORY_Y[..15]).unwrap();
        let [some, all] = [some, all].map(|line| Contrast::log_slope(&line).unwrap());
        let at_p = some.less(all).unwrap().ratio(1.0 - p).unwrap();
        close(if at_p.estimate > 1.0 { at_p.low } else { at_p.high }, 1.0, 1e-9);
    }

    #[test]
    fn repeats_of_an_x_stay_together() {
        let x = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0];
        assert_eq!(halves(&x, &x).unwrap().map(|half| half.n), [7, 4]);
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        for (x, y) in [
            (&[][..], &[][..]),
            (&[2.0; 4], &[1.0, 2.0, 3.0, 4.0]),
            (&[1.0, 2.0, 3.0], &[1.0, 2.0]),
            (&[1.0, 2.0, 3.0], &[1.0, 2.0, f64::NAN]),
            (&[1.0, 2.0, f64::NAN], &[1.0, 2.0, 3.0]),
        ] {
            assert_eq!(fit_line(x, y), None, "{x:?} {y:?}");
            assert_eq!(halves(x, y), None, "{x:?} {y:?}");
        }
        assert_eq!(fit_line(&[1.0, 2.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn only_slopes_above_zero_have_a_logarithm() {
        let rising = fit_line(&MEMORY_X, &MEMORY_Y).unwrap();
        let falling = fit_line(&MEMORY_X, &MEMORY_Y.map(|y| -y)).unwrap();
        assert_eq!(Contrast::log_slope(&rising).unwrap().estimate, rising.slope.estimate.ln());
        assert_eq!(Contrast::log_slope(&falling), None);
        // A flat line has no R².
        let flat = fit_line(&MEMORY_X, &[7.0; 24]).unwrap();
        assert_eq!((flat.r_squared, Contrast::log_slope(&flat)), (None, None));
        assert!(fit_line(&[1.0, 2.0, 3.0], &[1.0, 2.0, 4.0]).is_some());
    }
}
