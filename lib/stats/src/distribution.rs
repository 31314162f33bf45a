//! Quantiles of Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Most degrees of freedom that are told apart. With 1e8 the search for a quantile does not end (statrs 0.19);
/// from here on the quantile is that of the normal distribution within 2e-5.
const MOST_FREEDOM: f64 = 1e5;

/// Upper critical value of a two-sided Student's t interval: P(|T| ≤ t) = `confidence`.
///
/// `None` when `confidence` is not inside 0..1 or `freedom` is under 1. Degrees of freedom may be
/// fractional (Welch).
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
    use crate::tests::close;

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
