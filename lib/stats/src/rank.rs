//! Interval by ranks, for values with heavy tails.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::describe::finite;
use crate::interval::Interval;

/// Most values for which the distribution of the statistic is exact; beyond, it is taken as normal.
const MOST_EXACT: usize = 100;

/// Interval of the centre of symmetric values that the signed-rank test does not reject, around the Hodges–Lehmann
/// estimate: the median of the averages of all pairs of values (Hollander and Wolfe, "Nonparametric Statistical
/// Methods", section 3.3). A few far values hardly widen it. `None` if the values are too few for the confidence.
pub fn rank_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let n = values.len();
    let outside = outside(n, (1.0 - confidence) / 2.0)?;
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (k, first) in values.iter().enumerate() {
        averages.extend(values[k..].iter().map(|second| f64::midpoint(*first, *second)));
    }
    averages.iter().try_for_each(|average| finite(*average).map(drop))?;
    averages.sort_unstable_by(f64::total_cmp);
    let [low, high] = [averages[outside], averages[averages.len() - 1 - outside]];
    let middle = averages.len() / 2;
    let estimate = if averages.len() % 2 == 1 {
        averages[middle]
    } else {
        f64::midpoint(averages[middle - 1], averages[middle])
    };
    Some(Interval { estimate, low, high, n, confidence })
}

/// Number of averages outside the interval at each end: the largest sum of ranks that the statistic of n values stays at
/// or below with a probability of at most `tail`.
fn outside(n: usize, tail: f64) -> Option<usize> {
    if !(tail > 0.0 && tail < 0.5) {
        return None;
    }
    if n > MOST_EXACT {
        let count = n as f64;
        let mean = count * (count + 1.0) / 4.0;
        let sd = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        let largest = mean + sd * Normal::standard().inverse_cdf(tail) - 0.5;
        return (largest >= 0.0).then_some(largest as usize);
    }
    let mut below = 0.0;
    let probabilities = probabilities(n).into_iter();
    let count = probabilities.take_while(|probability| {
        below += probability;
        below <= tail
    });
    count.count().checked_sub(1)
}

/// Probability of each sum of ranks, if each of the ranks 1 to n is in it with a probability of a half.
fn probabilities(n: usize) -> Vec<f64> {
    let mut sums = vec![0.0; n * (n + 1) / 2 + 1];
    sums[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..sums.len()).rev() {
            let with = if sum >= rank { sums[sum - rank] } else { 0.0 };
            sums[sum] = f64::midpoint(sums[sum], with);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::close;

    /// Hollander and Wolfe, table 3.1 and example 3.3: nine patients before and after a drug.
    #[test]
    #[expect(clippy::approx_constant, reason = "a patient's figure")]
    fn an_interval_is_that_of_the_book() {
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let changes: Vec<f64> = before.iter().zip(after).map(|(x, y)| y - x).collect();
        let interval = rank_interval(&changes, 0.96).unwrap();
        close(interval.estimate, -0.46, 1e-9);
        close(interval.low, -0.786, 1e-9);
        close(interval.high, -0.010, 1e-9);
    }

    /// Table 3 of Wilcoxon and Wilcox, "Some Rapid Approximate Statistical Procedures" (1964): largest sums of two-sided tests.
    #[test]
    fn critical_sums_are_those_of_the_table() {
        for (n, level, largest) in [
            (8, 0.05, 3),
            (10, 0.05, 8),
            (12, 0.01, 7),
            (20, 0.05, 52),
            (25, 0.01, 68),
            (50, 0.01, 373),
        ] {
            assert_eq!(outside(n, level / 2.0), Some(largest), "{n} {level}");
        }
        assert_eq!(outside(5, 0.025), None);
        // On both sides of the limit, the same within a few ranks.
        let [exact, normal] = [MOST_EXACT, MOST_EXACT + 1].map(|n| outside(n, 0.001).unwrap());
        assert!((20..60).contains(&(normal - exact)), "{exact} {normal}");
    }

    #[test]
    fn far_values_hardly_widen_it() {
        let mut values: Vec<f64> = (0..30).map(f64::from).collect();
        let before = rank_interval(&values, 0.99).unwrap();
        values[29] = 1e6;
        let after = rank_interval(&values, 0.99).unwrap();
        assert!(after.high - before.high < 2.0 && after.low == before.low);
        assert_eq!(rank_interval(&[1.0, f64::NAN, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 0.9), None);
        assert_eq!(rank_interval(&[2.0; 9], 0.9).map(|i| (i.low, i.high)), Some((2.0, 2.0)));
    }
}
