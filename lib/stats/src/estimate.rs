//! Estimates for a report, with an interval when there are enough rounds.

use serde::Serialize;

use crate::describe::mean;
use crate::interval::{CONFIDENCE, Interval, t_critical, t_interval};

/// Rounds below which no interval is reported: an interval from two rounds reaches 12.7 standard errors to
/// either side, and holds only if the process means are normal.
pub const MIN_ROUNDS: usize = 5;

/// Point estimate with its interval, which is absent under [`MIN_ROUNDS`] rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub value: f64,
    /// Rounds, or rounds of the smaller set when the two sets are not paired.
    pub n: usize,
    /// Confidence interval; absent when `n` is under [`MIN_ROUNDS`], unless it is the span of a few sessions' own.
    pub interval: Option<Interval>,
}

impl From<Interval> for Estimate {
    fn from(interval: Interval) -> Self {
        Estimate { value: interval.estimate, n: interval.n, interval: Some(interval) }
    }
}

impl Estimate {
    /// Mean of one value per process. With enough rounds, an interval that could not be computed gives no estimate, so
    /// that an absent interval has one meaning.
    pub fn mean(values: &[f64]) -> Option<Self> {
        let (value, n) = (mean(values)?, values.len());
        let interval = if n < MIN_ROUNDS { None } else { Some(t_interval(values, CONFIDENCE)?) };
        Some(Self { value, n, interval })
    }

    /// Geometric mean of one positive value per process: no bound is below zero.
    pub fn geometric_mean(values: &[f64]) -> Option<Self> {
        // Beside the first, equal values have a logarithm of exactly zero.
        let unit = values.first().copied().filter(|unit| *unit > 0.0)?;
        let logs: Vec<f64> = values.iter().map(|value| (value / unit).ln()).collect();
        let mean = Self::mean(&logs)?.map(|log| unit * log.exp());
        let highest = mean.interval.map_or(mean.value, |interval| interval.high);
        highest.is_finite().then_some(mean)
    }

    /// The same with all values changed by a function that keeps or turns their order.
    #[must_use]
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self { value: f(self.value), n: self.n, interval: self.interval.map(|own| own.map(f)) }
    }

    /// The same with a further standard error of so many degrees of freedom, which may depend on its own: of the mean of
    /// `n` values, in a symmetric interval.
    #[must_use]
    pub fn widened(&self, freedom: f64, further: impl Fn(f64) -> f64) -> Self {
        let reach = self.interval.and_then(|interval| {
            let reach = interval.high - self.value;
            let error = reach / t_critical(CONFIDENCE, self.n as f64 - 1.0)?;
            Some(reach.hypot(t_critical(CONFIDENCE, freedom)? * further(error)))
        });
        let interval = self.interval.zip(reach).map(|(interval, reach)| Interval {
            low: self.value - reach,
            high: self.value + reach,
            ..interval
        });
        Self { interval, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ROUNDS_A, close};

    #[test]
    fn under_five_rounds_there_is_an_estimate_and_no_interval() {
        let four = Estimate::mean(&ROUNDS_A[..4]).unwrap();
        assert_eq!((four.n, four.interval), (4, None));
        assert_eq!(Estimate::mean(&ROUNDS_A[..1]).unwrap().value, ROUNDS_A[0]);
        let five = Estimate::mean(&ROUNDS_A[..5]).unwrap();
        assert_eq!(five.interval, t_interval(&ROUNDS_A[..5], 0.95));
        assert!(five.interval.is_some());
        assert_eq!(Estimate::mean(&[]), None);
        assert_eq!(Estimate::mean(&[f64::NAN; 9]), None);
    }

    #[test]
    fn independent_errors_add_up_as_squares() {
        let interval = Interval { estimate: 10.0, low: 7.0, high: 13.0, n: 9, confidence: 0.95 };
        // A further error of 4 / 3 of its own, of as many degrees of freedom.
        let widened = Estimate::from(interval).widened(8.0, |error| error / 3.0 * 4.0);
        assert_eq!((widened.value, widened.n), (10.0, 9));
        let ends = widened.interval.unwrap();
        close(ends.low, 5.0, 1e-12);
        close(ends.high, 15.0, 1e-12);
    }

    #[test]
    fn geometric_means_match_scipy() {
        // scipy 1.17.1: stats.gmean(v), np.exp of stats.t.interval(0.95, n - 1, np.mean(np.log(v)),
        // stats.sem(np.log(v))). The linear interval of the second begins at -15.3.
        let wide = [3.0, 80.0, 4.0, 5.0, 60.0];
        for (values, expected) in [
            (&ROUNDS_A[..], [1537.990294457472, 1507.871546468435, 1568.7106447398548]),
            (&wide, [12.356017011348237, 1.7212221179884772, 88.69927639737033]),
        ] {
            let mean = Estimate::geometric_mean(values).unwrap();
            let interval = mean.interval.unwrap();
            close(mean.value, expected[0], 1e-12);
            close(interval.low, expected[1], 1e-11);
            close(interval.high, expected[2], 1e-11);
        }
        let few = Estimate::geometric_mean(&wide[..4]).unwrap();
        assert_eq!((few.n, few.interval), (4, None));
        let equal = Estimate::geometric_mean(&[1000.0; 6]).unwrap();
        assert!(equal.value == 1000.0 && equal.interval.unwrap().contains(1000.0));
        // Its upper bound is no number of this size.
        let widest = [1e300, 1e-300, 1e300, 1e-300, 1e300];
        for none in [&[][..], &[1.0, 0.0], &[1.0, -2.0], &[-1.0; 9], &[f64::NAN; 9], &widest] {
            assert_eq!(Estimate::geometric_mean(none), None);
        }
    }
}
