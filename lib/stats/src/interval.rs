//! Confidence intervals from the values of independent processes.

use serde::Serialize;

use crate::describe::{finite, mean, sample_sd};
use crate::distribution::t_critical;

/// Two-sided confidence interval around an estimate, in the unit of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The point estimate.
    pub estimate: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Independent values: rounds, or rounds of the smaller set when two sets are not paired.
    pub n: usize,
    /// Share of such intervals that contain the true value, such as 0.95.
    pub confidence: f64,
}

impl Interval {
    /// Distance of the farther bound of a ratio from 1, as a factor minus one: a half and a double
    /// are equally far. `None` unless the bounds are positive.
    pub fn factor_from_one(&self) -> Option<f64> {
        let factor = self.high.max(1.0 / self.low) - 1.0;
        (self.low > 0.0 && factor.is_finite()).then_some(factor.max(0.0))
    }

    /// Interval of `estimate` ± `reach`; `None` if a bound is not finite.
    pub(crate) fn around(estimate: f64, reach: f64, n: usize, confidence: f64) -> Option<Self> {
        let low = finite(estimate - reach)?;
        let high = finite(estimate + reach)?;
        Some(Self { estimate, low, high, n, confidence })
    }

    /// True if `value` lies inside or on a bound. A difference whose interval contains 0, or a
    /// ratio whose interval contains 1, is not distinguishable from no effect.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Interval of `exp(x)`, given that of `x`.
    fn exp(self) -> Option<Self> {
        Some(Self {
            estimate: finite(self.estimate.exp())?,
            low: self.low.exp(),
            high: finite(self.high.exp())?,
            ..self
        })
    }
}

/// Student's t interval of the mean, x̄ ± t(n − 1) · s / √n, of at
/// least two values. A report needs more: see [`crate::MIN_ROUNDS`].
pub fn t_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let n = values.len();
    let reach = t_half_width(sample_sd(values)?, n, confidence)?;
    Interval::around(mean(values)?, reach, n, confidence)
}

/// Half-width of [`t_interval`] where `n` values have this standard deviation.
pub fn t_half_width(sd: f64, n: usize, confidence: f64) -> Option<f64> {
    let freedom = n.checked_sub(1)?;
    finite(t_critical(confidence, freedom as f64)? * sd / (n as f64).sqrt())
}

/// Interval of the mean of `a − b`, paired: index i of both is the same round. Never clamped at
/// zero.
pub fn difference_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<Interval> {
    t_interval(&paired_differences(a, b)?, confidence)
}

/// Interval of the ratio numerator / denominator, paired by round: Student's t on the logarithms
/// of the ratios, exponentiated. The estimate is the geometric mean of the ratios.
pub fn ratio_interval(
    numerators: &[f64],
    denominators: &[f64],
    confidence: f64,
) -> Option<Interval> {
    t_interval(&paired_log_ratios(numerators, denominators)?, confidence)?.exp()
}

/// Difference with its standard error: the input of a t interval at any level, or of a t test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The difference.
    pub(crate) estimate: f64,
    /// Standard error of the difference.
    pub(crate) error: f64,
    /// Degrees of freedom of the standard error.
    pub(crate) freedom: f64,
    /// Independent values, of the smaller set.
    pub(crate) n: usize,
}

impl Contrast {
    /// Logarithm of the ratio of the geometric means of two sets that share no rounds.
    pub fn log_ratio(numerators: &[f64], denominators: &[f64]) -> Option<Self> {
        welch(&logs(numerators)?, &logs(denominators)?)
    }

    /// Interval of the ratio whose logarithm this is.
    pub fn ratio(self, confidence: f64) -> Option<Interval> {
        self.interval(confidence)?.exp()
    }

    fn interval(self, confidence: f64) -> Option<Interval> {
        let reach = t_critical(confidence, self.freedom)? * self.error;
        Interval::around(self.estimate, reach, self.n, confidence)
    }
}

/// mean(a) − mean(b) for two sets that share no rounds and may differ in spread and size: Welch's
/// t with Welch–Satterthwaite degrees of freedom.
pub(crate) fn welch(a: &[f64], b: &[f64]) -> Option<Contrast> {
    let square_error = |values: &[f64]| Some(sample_sd(values)?.powi(2) / values.len() as f64);
    let (error_a, error_b) = (square_error(a)?, square_error(b)?);
    let estimate = finite(mean(a)? - mean(b)?)?;
    let (n_a, n_b) = (a.len() as f64, b.len() as f64);
    let sum = error_a + error_b;
    // Shares of the sum, since the square of the sum could overflow.
    let freedom = if sum > 0.0 {
        1.0 / ((error_a / sum).powi(2) / (n_a - 1.0) + (error_b / sum).powi(2) / (n_b - 1.0))
    } else {
        n_a + n_b - 2.0
    };
    Some(Contrast { estimate, error: sum.sqrt(), freedom, n: a.len().min(b.len()) })
}

/// Interval of mean(a) − mean(b) for two sets that share no rounds and may differ in spread and
/// size: Welch's t.
pub fn welch_difference_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<Interval> {
    welch(a, b)?.interval(confidence)
}

/// Interval of the ratio numerator / denominator for two sets that share no rounds: Welch's t on
/// the logarithms, exponentiated. The estimate is the ratio of the geometric means.
pub fn welch_ratio_interval(
    numerators: &[f64],
    denominators: &[f64],
    confidence: f64,
) -> Option<Interval> {
    Contrast::log_ratio(numerators, denominators)?.ratio(confidence)
}

/// `a[i] − b[i]`; `None` when the lengths differ.
pub(crate) fn paired_differences(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    (a.len() == b.len()).then(|| a.iter().zip(b).map(|(a, b)| a - b).collect())
}

/// `ln(a[i] / b[i])`; `None` when the lengths differ or a value is not positive.
pub(crate) fn paired_log_ratios(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    paired_differences(&logs(a)?, &logs(b)?)
}

/// Natural logarithms; `None` unless every value is positive and finite.
pub(crate) fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let log = |v: &f64| (*v > 0.0 && v.is_finite()).then(|| v.ln());
    values.iter().map(log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ROUNDS_A, ROUNDS_B, ROUNDS_C, close};

    fn golden(actual: Option<Interval>, expected: [f64; 3]) {
        let actual = actual.unwrap();
        close(actual.estimate, expected[0], 1e-12);
        close(actual.low, expected[1], 1e-11);
        close(actual.high, expected[2], 1e-11);
    }

    #[test]
    fn t_interval_matches_scipy() {
        // scipy 1.17.1: stats.t.interval(c, 9, np.mean(A), stats.sem(A))
        golden(t_interval(&ROUNDS_A, 0.95), [1538.52, 1508.0374977504496, 1569.0025022495504]);
        golden(t_interval(&ROUNDS_A, 0.99), [1538.52, 1494.7285602024604, 1582.3114397975396]);
    }

    #[test]
    fn paired_intervals_match_scipy() {
        // scipy 1.17.1: stats.ttest_rel(A, B).confidence_interval(0.95)
        golden(
            difference_interval(&ROUNDS_A, &ROUNDS_B, 0.95),
            [1324.6699999999998, 1299.3012289223207, 1350.038771077679],
        );
        // scipy 1.17.1: np.exp of stats.ttest_rel(np.log(A), np.log(B)).confidence_interval(0.95)
        golden(
            ratio_interval(&ROUNDS_A, &ROUNDS_B, 0.95),
            [7.195794909603884, 7.143310474857798, 7.248664966100602],
        );
    }

    #[test]
    fn unpaired_intervals_match_scipy() {
        // scipy 1.17.1: stats.ttest_ind(A, C, equal_var=False).confidence_interval(0.95)
        golden(
            welch_difference_interval(&ROUNDS_A, &ROUNDS_C, 0.95),
            [-71.87999999999988, -140.7759858124106, -2.9840141875891675],
        );
        // the same on np.log(A), np.log(C), then np.exp
        golden(
            welch_ratio_interval(&ROUNDS_A, &ROUNDS_C, 0.95),
            [0.9560510440588386, 0.9155710605894597, 0.9983207619707044],
        );
    }

    #[test]
    fn pairing_uses_the_rounds_and_welch_does_not() {
        let quiet = [10.0, 20.0, 30.0, 40.0, 50.0];
        let loud = [11.0, 21.1, 30.9, 41.0, 51.1];
        let paired = difference_interval(&loud, &quiet, 0.95).unwrap();
        let unpaired = welch_difference_interval(&loud, &quiet, 0.95).unwrap();
        close(paired.estimate, unpaired.estimate, 1e-12);
        assert!(!paired.contains(0.0));
        assert!(unpaired.contains(0.0) && unpaired.low < 0.0);
    }

    #[test]
    fn equal_values_give_an_interval_of_no_width() {
        let interval = t_interval(&[3.0; 6], 0.95).unwrap();
        assert_eq!((interval.low, interval.estimate, interval.high), (3.0, 3.0, 3.0));
        let ratio = ratio_interval(&[6.0; 6], &[3.0; 6], 0.95).unwrap();
        close(ratio.low, 2.0, 1e-15);
        let welch = welch_difference_interval(&[3.0; 6], &[1.0; 4], 0.95).unwrap();
        assert_eq!((welch.low, welch.high, welch.n), (2.0, 2.0, 4));
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        for values in [&[][..], &[1.0], &[1.0, f64::NAN], &[f64::MAX, f64::MIN]] {
            assert_eq!(t_interval(values, 0.95), None, "{values:?}");
            assert_eq!(welch_difference_interval(values, &ROUNDS_A, 0.95), None);
        }
        assert_eq!(t_interval(&ROUNDS_A, 1.0), None);
        assert_eq!(difference_interval(&ROUNDS_A, &ROUNDS_C, 0.95), None);
        assert_eq!(difference_interval(&[], &[], 0.95), None);
        assert_eq!(difference_interval(&[1.0, f64::NAN], &[1.0, 1.0], 0.95), None);
        assert_eq!(difference_interval(&[1.0, f64::MAX], &[1.0, f64::MIN], 0.95), None);
        assert_eq!(ratio_interval(&ROUNDS_A, &ROUNDS_C, 0.95), None);
        assert_eq!(ratio_interval(&[1.0, 0.0], &[1.0, 1.0], 0.95), None);
        assert_eq!(ratio_interval(&[1.0, 1.0], &[1.0, -2.0], 0.95), None);
        assert_eq!(welch_ratio_interval(&[1.0, 0.0], &ROUNDS_A, 0.95), None);
    }

    #[test]
    fn huge_values_keep_their_ratio() {
        let huge = ROUNDS_A.map(|v| v * 1e300);
        let ratio = ratio_interval(&huge, &ROUNDS_A, 0.95).unwrap();
        close(ratio.estimate, 1e300, 1e-12);
    }

    #[test]
    fn an_interval_contains_its_bounds() {
        let interval = Interval::around(-4.0, 1.0, 5, 0.95).unwrap();
        assert!(interval.contains(-5.0) && interval.contains(-3.0) && !interval.contains(0.0));
    }
}
