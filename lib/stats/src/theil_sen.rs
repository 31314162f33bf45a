//! The Theil–Sen line: a slope that is robust against outliers.

use serde::Serialize;

use crate::describe::{finite, median, quantile_sorted, sorted, usable};
use crate::distribution::z_critical;
use crate::interval::Interval;

/// Theil–Sen line: the median of the pairwise slopes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TheilSen {
    /// Median of the slopes of all pairs of points with distinct x, in units of y per unit of x.
    pub slope: f64,
    /// Sen's interval of the slope; absent when there are too few points for the confidence.
    pub slope_interval: Option<Interval>,
    /// median(y) − slope · median(x), in units of y.
    pub intercept: f64,
    /// Number of points.
    pub n: usize,
}

/// Theil–Sen line through at least two points with distinct x.
///
/// The interval is that of Sen (1968), equation 2.6: order statistics of the slopes, chosen by the
/// variance of Kendall's S, corrected for ties in x and y. Values agree with
/// `scipy.stats.theilslopes(method='separate')`, except that scipy uses the extreme slopes when
/// the order statistics it needs do not exist; here the interval is absent.
pub fn theil_sen(x: &[f64], y: &[f64], confidence: f64) -> Option<TheilSen> {
    if x.len() != y.len() || !usable(x) || !usable(y) {
        return None;
    }
    let slopes = pairwise_slopes(x, y);
    let slope = quantile_sorted(&slopes, 0.5)?;
    let intercept = finite(median(y)? - slope * median(x)?)?;
    let slope_interval = sen_bounds(x, y, &slopes, confidence).map(|(low, high)| Interval {
        estimate: slope,
        low,
        high,
        n: x.len(),
        confidence,
    });
    Some(TheilSen { slope, slope_interval, intercept, n: x.len() })
}

/// Slopes of all pairs of points whose x differ, ascending.
fn pairwise_slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut slopes = Vec::new();
    for i in 0..x.len() {
        for j in 0..i {
            if x[i] != x[j] {
                slopes.push((y[i] - y[j]) / (x[i] - x[j]));
            }
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    slopes
}

fn sen_bounds(x: &[f64], y: &[f64], slopes: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let weight = |k: usize| (k * (k - 1) * (2 * k + 5)) as f64;
    let ties = |values: &[f64]| tie_sizes(values).into_iter().map(weight).sum::<f64>();
    let variance = (weight(x.len()) - ties(x) - ties(y)) / 18.0;
    if variance <= 0.0 {
        return None;
    }
    let reach = z_critical(confidence)? * variance.sqrt();
    let count = slopes.len() as f64;
    let low = ((count - reach) / 2.0).round_ties_even() - 1.0;
    let high = ((count + reach) / 2.0).round_ties_even();
    if low < 0.0 {
        return None;
    }
    Some((finite(slopes[low as usize])?, finite(*slopes.get(high as usize)?)?))
}

/// Sizes of the groups of equal values, including groups of one.
fn tie_sizes(values: &[f64]) -> Vec<usize> {
    sorted(values).chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MEMORY_X, MEMORY_Y, close};

    fn golden(actual: Option<TheilSen>, expected: [f64; 4]) {
        let actual = actual.unwrap();
        let interval = actual.slope_interval.unwrap();
        close(actual.slope, expected[0], 1e-12);
        close(actual.intercept, expected[1], 1e-9);
        close(interval.low, expected[2], 1e-12);
        close(interval.high, expected[3], 1e-12);
    }

    #[test]
    fn matches_scipy() {
        // scipy 1.17.1: stats.theilslopes(Y, X, 0.95): slope, intercept, low_slope, high_slope
        golden(
            theil_sen(&MEMORY_X, &MEMORY_Y, 0.95),
            [9791.595789473684, 2099954.5263157897, 9784.097391304347, 9798.217142857144],
        );
        // x = [1, 2, 3, 4, 5, 6, 7, 8], y = [2, 4, 4, 8, 9, 13, 13, 40]: ties in y, one outlier
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let y = [2.0, 4.0, 4.0, 8.0, 9.0, 13.0, 13.0, 40.0];
        golden(theil_sen(&x, &y, 0.95), [2.225, -1.512500000000001, 1.6666666666666667, 6.0]);
    }

    #[test]
    fn too_few_points_have_a_slope_and_no_interval() {
        let fit = theil_sen(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 5.0], 0.95).unwrap();
        close(fit.slope, 1.1666666666666667, 1e-12);
        assert_eq!(fit.slope_interval, None);
        assert_eq!(theil_sen(&[1.0, 2.0], &[5.0, 5.0], 0.95).unwrap().slope_interval, None);
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        assert_eq!(theil_sen(&[], &[], 0.95), None);
        assert_eq!(theil_sen(&[1.0], &[1.0], 0.95), None);
        assert_eq!(theil_sen(&[1.0, 1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(theil_sen(&[1.0, 2.0], &[1.0], 0.95), None);
        assert_eq!(theil_sen(&[1.0, 2.0], &[1.0, f64::NAN], 0.95), None);
        assert_eq!(theil_sen(&[1.0, 2.0], &[f64::MIN, f64::MAX], 0.95), None);
    }
}
