//! Location and spread of a few values.

/// Arithmetic mean; `None` unless there is a value, and all are finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    if !usable(values) {
        return None;
    }
    let n = values.len() as f64;
    let rough = values.iter().sum::<f64>() / n;
    // The second pass corrects the rounding of the first, which matters when the values are large
    // compared with their spread, as byte counts are.
    let mean = rough + values.iter().map(|v| v - rough).sum::<f64>() / n;
    finite(mean)
}

/// Sample standard deviation (divisor n − 1); `None` under two values.
pub(crate) fn sample_sd(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    // Of one value it is not a number.
    finite((squares_about(values, mean) / (values.len() - 1) as f64).sqrt())
}

/// Median: the middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Quantile by linear interpolation between order statistics at position `p · (n − 1)`: type 7 of
/// Hyndman and Fan (1996), the default of R and NumPy. `p` runs from 0 to 1.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    if !usable(values) || !(0.0..=1.0).contains(&p) {
        return None;
    }
    let sorted = sorted(values);
    let position = p * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let low = sorted[below];
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    let share = position - below as f64;
    // Exact for equal neighbours; `low · (1 − share) + high · share` is not.
    finite(low + (high - low) * share)
}

/// Sum of squared deviations from `centre`.
pub(crate) fn squares_about(values: &[f64], centre: f64) -> f64 {
    values.iter().map(|v| (v - centre).powi(2)).sum()
}

/// The values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// True if there is at least one value and all are finite.
pub(crate) fn usable(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().all(|v| v.is_finite())
}

/// The value, unless it is a NaN or an infinity.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ROUNDS_A, close};

    #[test]
    fn quantiles_match_numpy() {
        // numpy 2.4.6: np.quantile(A, p), method 'linear' (type 7)
        for (p, expected) in [(0.0, 1472.8), (0.25, 1506.825), (0.99, 1608.803), (1.0, 1610.9)] {
            close(quantile(&ROUNDS_A, p).unwrap(), expected, 1e-14);
        }
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn small_spread_of_large_values_is_kept() {
        // NIST StRD NumAcc4: mean 10000000.2, standard deviation 0.1, by construction.
        let mut values = vec![10_000_000.2];
        for _ in 0..500 {
            values.extend([10_000_000.1, 10_000_000.3]);
        }
        close(mean(&values).unwrap(), 10_000_000.2, 1e-15);
        close(sample_sd(&values).unwrap(), 0.1, 1e-7);
        close(sample_sd(&[1.0, 3.0]).unwrap(), 2f64.sqrt(), 1e-15);
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        for values in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY], &[f64::MAX; 2]] {
            assert_eq!((mean(values), sample_sd(values)), (None, None), "{values:?}");
        }
        assert_eq!((sample_sd(&[1.0]), median(&[f64::NAN, 1.0])), (None, None));
        assert_eq!([1.1, f64::NAN].map(|p| quantile(&[1.0, 2.0], p)), [None; 2]);
        assert_eq!((sample_sd(&[0.1; 7]), quantile(&[0.1; 7], 0.3)), (Some(0.0), Some(0.1)));
    }
}
