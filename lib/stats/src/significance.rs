//! Tests of a difference between two runs, corrected for many comparisons.

use crate::describe::{mean, sample_sd};
use crate::distribution::t_two_sided;
use crate::interval::{Contrast, logs, welch};
use crate::line::{Line, log_slope_ratio};

/// Two-sided p of Welch's t test on the logarithms. It is under 0.05 exactly where the 95 % interval of
/// [`crate::welch_ratio_interval`] does not contain 1.
pub fn welch_ratio_p(numerators: &[f64], denominators: &[f64]) -> Option<f64> {
    p(welch(&logs(numerators)?, &logs(denominators)?)?)
}

/// Two-sided p of the test that two slopes are equal, consistent with the interval of
/// [`crate::slope_ratio`].
pub fn slope_ratio_p(a: &Line, b: &Line) -> Option<f64> {
    p(log_slope_ratio(a, b)?)
}

/// Two-sided p of the test that the mean of independent values is zero, consistent with
/// [`crate::t_interval`].
pub fn t_p(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let error = sample_sd(values)? / n.sqrt();
    p(Contrast { estimate: mean(values)?, error, freedom: n - 1.0 })
}

fn p(contrast: Contrast) -> Option<f64> {
    match contrast.error > 0.0 {
        true => t_two_sided(contrast.estimate / contrast.error, contrast.freedom),
        // No variance: the values are equal or they are not.
        false => Some(if contrast.estimate == 0.0 { 1.0 } else { 0.0 }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MEMORY_X, MEMORY_Y, ROUNDS_A, ROUNDS_B, ROUNDS_C, close};
    use crate::{fit_line, slope_ratio, t_interval, welch_ratio_interval};

    #[test]
    fn welch_matches_scipy() {
        // scipy 1.17.1: stats.ttest_ind(np.log(a), np.log(b), equal_var=False).pvalue
        for (a, b, expected) in [
            (&ROUNDS_A[..], &ROUNDS_C[..], 0.043106460961561385),
            (&ROUNDS_C, &ROUNDS_A, 0.043106460961561385),
            (&ROUNDS_A[..5], &ROUNDS_C[..5], 0.14354919836372632),
            (&ROUNDS_A, &ROUNDS_B, 9.859641600420374e-28),
        ] {
            close(welch_ratio_p(a, b).unwrap(), expected, 1e-9);
        }
        assert_eq!(welch_ratio_p(&ROUNDS_A, &[1.0, 0.0]), None);
        assert_eq!(welch_ratio_p(&[1.0], &ROUNDS_A), None);
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
    fn p_and_interval_agree() {
        let p = welch_ratio_p(&ROUNDS_A, &ROUNDS_C).unwrap();
        let at_p = welch_ratio_interval(&ROUNDS_A, &ROUNDS_C, 1.0 - p).unwrap();
        close(at_p.high, 1.0, 1e-9);
    }

    #[test]
    fn slopes_match_scipy() {
        // scipy 1.17.1: r, s = linregress(X, Y), linregress(X[:15], Y[:15]);
        // se = np.hypot(r.stderr / r.slope, s.stderr / s.slope);
        // 2 * stats.t.sf(abs(np.log(s.slope / r.slope)) / se, 24 + 15 - 4)
        let all = fit_line(&MEMORY_X, &MEMORY_Y, 0.95).unwrap();
        let some = fit_line(&MEMORY_X[..15], &MEMORY_Y[..15], 0.95).unwrap();
        let p = slope_ratio_p(&some, &all).unwrap();
        close(p, 0.008400090892020163, 1e-8);
        assert!(!slope_ratio(&some, &all, 0.95).unwrap().contains(1.0));
        assert_eq!(slope_ratio_p(&all, &all), Some(1.0));
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
}
