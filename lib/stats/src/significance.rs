//! Tests of a difference between two runs, corrected for many comparisons.

use crate::distribution::t_two_sided;
use crate::interval::Contrast;

/// Two-sided p of the test that the mean of independent values is zero, consistent with
/// [`crate::t_interval`].
pub fn t_p(values: &[f64]) -> Option<f64> {
    Contrast::mean(values)?.p()
}

impl Contrast {
    /// Two-sided p of the test that the difference is zero. It is under 0.05 exactly if the 95 %
    /// interval does not contain that.
    pub fn p(self) -> Option<f64> {
        if self.error > 0.0 {
            return t_two_sided(self.estimate / self.error, self.freedom);
        }
        // No variance: the values are equal or they are not.
        Some(if self.estimate == 0.0 { 1.0 } else { 0.0 })
    }
}

/// Adjusted p of each test by Holm's step-down correction (1979), in the order given.
///
/// A threshold of 0.05 on the adjusted values keeps the family-wise error rate at 5 % or less,
/// whether or not the tests are independent. It rejects all that Bonferroni's correction rejects.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max(((p.len() - rank) as f64 * p[index]).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

/// Level at which Holm's method tests each p, so that an interval at this level excludes no effect
/// exactly if the family's error rate `level` allows to reject it.
pub fn holm_levels(p: &[f64], level: f64) -> Vec<f64> {
    let adjusted = holm(p);
    let rejected = adjusted.iter().filter(|&&adjusted| adjusted <= level).count();
    let mut levels = Vec::with_capacity(p.len());
    for own in p {
        let before = p.iter().filter(|&p| p < own).count();
        levels.push(level / (p.len() - before.min(rejected)) as f64);
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MEMORY_X, MEMORY_Y, ROUNDS_A, ROUNDS_B, ROUNDS_C, close};
    use crate::{fit_line, log_slope_ratio, t_interval};

    fn welch_ratio_p(numerators: &[f64], denominators: &[f64]) -> Option<f64> {
        Contrast::log_ratio(numerators, denominators)?.p()
    }

    #[test]
    fn welch_matches_scipy() {
        // scipy 1.17.1: stats.ttest_ind(np.log(a), np.log(b), equal_var=False).pvalue
        for (a, b, expected) in [
            (&ROUNDS_C[..], &ROUNDS_A[..], 0.043106460961561385),
            (&ROUNDS_A[..5], &ROUNDS_C[..5], 0.14354919836372632),
            (&ROUNDS_A, &ROUNDS_B, 9.859641600420374e-28),
        ] {
            close(welch_ratio_p(a, b).unwrap(), expected, 1e-9);
        }
    }

    #[test]
    fn one_sample_matches_the_integral_of_its_density() {
        // Simpson's rule with 200,000 steps over Student's density, in Python
        let values = ROUNDS_A.map(|v| v - 1500.0);
        let p = t_p(&values).unwrap();
        close(p, 0.018822295088227414, 1e-9);
        let at_p = t_interval(&values, 1.0 - p).unwrap();
        close(at_p.high, 2.0 * at_p.estimate, 1e-9);
        assert_eq!((t_p(&[0.0; 3]), t_p(&[1.0; 3]), t_p(&[1.0])), (Some(1.0), Some(0.0), None));
    }

    #[test]
    fn slopes_match_scipy() {
        // scipy 1.17.1: r, s = linregress(X, Y), linregress(X[:15], Y[:15]);
        // se = np.hypot(r.stderr / r.slope, s.stderr / s.slope);
        // 2 * stats.t.sf(abs(np.log(s.slope / r.slope)) / se, 24 + 15 - 4)
        let all = fit_line(&MEMORY_X, &MEMORY_Y, 0.95).unwrap();
        let some = fit_line(&MEMORY_X[..15], &MEMORY_Y[..15], 0.95).unwrap();
        let contrast = log_slope_ratio(&some, &all).unwrap();
        close(contrast.p().unwrap(), 0.008400090892020163, 1e-8);
        assert!(!contrast.ratio(0.95).unwrap().contains(1.0));
        assert_eq!(log_slope_ratio(&all, &all).unwrap().p(), Some(1.0));
    }

    #[test]
    fn values_that_do_not_vary_are_equal_or_not() {
        assert_eq!(welch_ratio_p(&[3.0; 5], &[3.0; 6]), Some(1.0));
        assert_eq!(welch_ratio_p(&[3.0; 5], &[3.1; 6]), Some(0.0));
    }

    #[test]
    fn holm_matches_statsmodels() {
        // statsmodels 0.15.0: multipletests(p, method='holm')[1]
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.2, 0.04, 0.9]);
        for (actual, expected) in
            adjusted.into_iter().zip([0.06, 0.16, 0.15, 0.035, 0.4, 0.16, 0.9])
        {
            close(actual, expected, 1e-14);
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.3]), [0.3]);
    }

    #[test]
    fn holm_tests_each_p_at_the_level_of_its_step() {
        // Steps of 0.05 ÷ 5, 4, 3; the third p is not below its level, nor is any after it.
        let p = [0.2, 0.012, 0.02, 0.001, 0.018];
        let third = 0.05 / 3.0;
        assert_eq!(holm_levels(&p, 0.05), [third, 0.0125, third, 0.01, third]);
        for p in [&p[..], &[0.02; 3]] {
            for ((p, level), adjusted) in p.iter().zip(holm_levels(p, 0.05)).zip(holm(p)) {
                assert_eq!(*p <= level, adjusted <= 0.05);
            }
        }
    }
}
