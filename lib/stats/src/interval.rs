//! Confidence intervals from the values of independent processes.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::describe::{finite, mean, sample_sd};

/// Confidence of every interval that is not one of several.
pub const CONFIDENCE: f64 = 0.95;

/// Two-sided confidence interval around an estimate, in the unit of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
    /// Independent values: rounds, or rounds of the smaller set when two sets are not paired.
    pub n: usize,
    /// Share of such intervals that contain the true value, such as 0.95.
    pub confidence: f64,
}

impl Interval {
    /// The same with all values changed by a function that keeps or turns their order.
    #[must_use]
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        let [one, other] = [f(self.low), f(self.high)];
        let (low, high) = if one > other { (other, one) } else { (one, other) };
        Self { estimate: f(self.estimate), low, high, ..*self }
    }

    /// True if `value` lies inside or on a bound.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Student's t interval of the mean, x̄ ± t(n − 1) · s / √n, of at least two values.
pub fn t_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    Contrast::mean(values)?.interval(confidence)
}

/// Difference with its standard error: the input of a t interval at any level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    pub estimate: f64,
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub(crate) freedom: f64,
    /// Independent values, of the smaller set.
    pub(crate) n: usize,
}

impl Contrast {
    /// Mean of independent values.
    pub fn mean(values: &[f64]) -> Option<Self> {
        let n = values.len();
        let error = sample_sd(values)? / (n as f64).sqrt();
        Some(Self { estimate: mean(values)?, error, freedom: n as f64 - 1.0, n })
    }

    /// The difference of two that are independent, and may differ in spread and size: Welch's t with
    /// Welch–Satterthwaite degrees of freedom.
    pub fn less(self, other: Self) -> Option<Self> {
        let estimate = finite(self.estimate - other.estimate)?;
        Some(Contrast { estimate, ..Contrast::average(&[self, other], 1.0)? })
    }

    /// The mean of several that are independent, or their sum divided by another number.
    pub fn average(contrasts: &[Self], divisor: f64) -> Option<Self> {
        let sum: f64 = contrasts.iter().map(|contrast| contrast.error.powi(2)).sum();
        // Shares of the sum, since the square of the sum could overflow.
        let shares = contrasts
            .iter()
            .map(|contrast| (contrast.error.powi(2) / sum).powi(2) / contrast.freedom);
        let freedom = if sum > 0.0 {
            1.0 / shares.sum::<f64>()
        } else {
            contrasts.iter().map(|contrast| contrast.freedom).sum()
        };
        Some(Contrast {
            estimate: finite(
                contrasts.iter().map(|contrast| contrast.estimate).sum::<f64>() / divisor,
            )?,
            error: finite(sum.sqrt() / divisor)?,
            freedom,
            n: contrasts.iter().map(|contrast| contrast.n).min()?,
        })
    }

    /// The same with a further error that is independent of its own.
    pub fn with_error(self, error: f64, freedom: f64) -> Option<Self> {
        self.less(Contrast { estimate: 0.0, error, freedom, n: self.n })
    }

    /// Interval of the ratio, if this is its logarithm.
    pub fn ratio(self, confidence: f64) -> Option<Interval> {
        let interval = self.interval(confidence)?.map(f64::exp);
        interval.high.is_finite().then_some(interval)
    }

    /// Interval of the difference; `None` if a bound is not finite.
    pub fn interval(self, confidence: f64) -> Option<Interval> {
        let (estimate, n) = (self.estimate, self.n);
        let reach = t_critical(confidence, self.freedom)? * self.error;
        let (low, high) = (finite(estimate - reach)?, finite(estimate + reach)?);
        Some(Interval { estimate, low, high, n, confidence })
    }
}

/// Most degrees of freedom that are told apart. With 1e8, the search for a quantile does not end (statrs 0.19). From
/// here on, the quantile equals the normal distribution's within 2e-5.
const MOST_FREEDOM: f64 = 1e5;

/// Upper critical value of a two-sided Student's t interval: P(|T| ≤ t) = `confidence`.
pub fn t_critical(confidence: f64, freedom: f64) -> Option<f64> {
    let upper_tail = 0.5 + confidence / 2.0;
    if !(confidence > 0.0 && upper_tail < 1.0 && freedom >= 1.0) {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, freedom.min(MOST_FREEDOM)).ok()?;
    Some(t.inverse_cdf(upper_tail))
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

    fn logs(values: &[f64]) -> Option<Contrast> {
        Contrast::mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>())
    }

    fn paired(a: &[f64], b: &[f64]) -> Option<Interval> {
        logs(&a.iter().zip(b).map(|(a, b)| a / b).collect::<Vec<_>>())?.ratio(0.95)
    }

    fn welch(a: &[f64], b: &[f64]) -> Option<Interval> {
        logs(a)?.less(logs(b)?)?.ratio(0.95)
    }

    #[test]
    fn intervals_match_scipy() {
        // scipy 1.17.1: stats.t.interval(c, 9, np.mean(A), stats.sem(A))
        golden(t_interval(&ROUNDS_A, 0.95), [1538.52, 1508.0374977504496, 1569.0025022495504]);
        // scipy 1.17.1: np.exp of stats.ttest_rel(np.log(A), np.log(B)).confidence_interval(0.95)
        golden(
            paired(&ROUNDS_A, &ROUNDS_B),
            [7.195794909603884, 7.143310474857798, 7.248664966100602],
        );
        // np.exp of stats.ttest_ind(np.log(A), np.log(C), equal_var=False).confidence_interval(0.95)
        golden(
            welch(&ROUNDS_A, &ROUNDS_C),
            [0.9560510440588386, 0.9155710605894597, 0.9983207619707044],
        );
    }

    #[test]
    fn equal_values_give_an_interval_of_no_width() {
        let interval = t_interval(&[3.0; 6], 0.95).unwrap();
        assert_eq!((interval.low, interval.estimate, interval.high), (3.0, 3.0, 3.0));
        close(paired(&[6.0; 6], &[3.0; 6]).unwrap().low, 2.0, 1e-15);
        let welch = welch(&[1.0; 6], &[1.0; 4]).unwrap();
        assert_eq!((welch.low, welch.high, welch.n), (1.0, 1.0, 4));
    }

    #[test]
    fn errors_of_independent_values_add_up() {
        let of = |estimate, error, freedom| Contrast { estimate, error, freedom, n: 5 };
        let mean = Contrast::average(&[of(10.0, 3.0, 4.0), of(20.0, 4.0, 4.0)], 2.0).unwrap();
        assert_eq!((mean.estimate, mean.error), (15.0, 2.5));
        // Satterthwaite: (9 + 16)² / (9² / 4 + 16² / 4).
        close(mean.freedom, 2500.0 / 337.0, 1e-12);
        let wider = of(7.0, 3.0, 4.0).with_error(4.0, 9.0).unwrap();
        assert_eq!((wider.estimate, wider.error), (7.0, 5.0));
        // A function that falls turns the bounds.
        let turned = of(7.0, 3.0, 4.0).interval(0.9).unwrap().map(|value| -value);
        assert!(turned.low < turned.estimate && turned.estimate < turned.high);
        assert_eq!(of(700.0, 10.0, 4.0).ratio(0.95), None);
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        for values in [&[][..], &[1.0], &[1.0, f64::NAN], &[1.0, 0.0], &[1.0, -2.0]] {
            assert_eq!((welch(values, &ROUNDS_A), paired(values, &ROUNDS_A)), (None, None));
        }
        assert_eq!((t_interval(&[1.0], 0.95), t_interval(&ROUNDS_A, 1.0)), (None, None));
    }

    #[test]
    fn t_quantiles_match_scipy() {
        // scipy 1.17.1: stats.t.ppf(0.5 + c / 2, df)
        for (confidence, freedom, expected) in [
            (0.95, 1.0, 12.706204736174694),
            (0.9, 7.3, 1.8829300179564308),
            (0.95, 9.0, 2.262157162798205),
            (0.999, 22.0, 3.792130671698437),
            (0.95, 10000.0, 1.960201239890626),
        ] {
            close(t_critical(confidence, freedom).unwrap(), expected, 1e-9);
        }
        close(t_critical(0.95, 1e8).unwrap(), 1.9599640082627663, 1e-4);
    }

    #[test]
    fn invalid_confidence_or_freedom_gives_none() {
        for confidence in [0.0, 1.0, -0.5, 95.0, f64::NAN, 1.0 - f64::EPSILON / 2.0] {
            assert_eq!(t_critical(confidence, 9.0), None, "{confidence}");
        }
        assert_eq!([0.0, f64::NAN].map(|freedom| t_critical(0.95, freedom)), [None; 2]);
    }
}
