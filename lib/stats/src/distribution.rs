//! Quantiles and tails of Student's t and the normal distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Degrees of freedom above which `t_from_normal` gives the quantile.
const SERIES_FROM: f64 = 1000.0;

/// Upper critical value of a two-sided Student's t interval: P(|T| ≤ t) = `confidence`.
///
/// `None` when `confidence` is not inside 0..1 or `freedom` is under 1. Degrees of freedom may be
/// fractional (Welch).
pub(crate) fn t_critical(confidence: f64, freedom: f64) -> Option<f64> {
    let z = z_critical(confidence)?;
    if freedom.is_nan() || freedom < 1.0 {
        return None;
    }
    if freedom > SERIES_FROM {
        // statrs 0.19 agrees with scipy to 1e-12 up to 1,000 degrees of freedom. At 1e6 its error
        // is 6e-5, and at 1e8 its search does not end. The series is accurate to 1e-13 here.
        return Some(t_from_normal(z, freedom));
    }
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(t.inverse_cdf(upper_tail(confidence)))
}

/// Upper critical value of a two-sided normal interval: P(|Z| ≤ z) = `confidence`.
pub(crate) fn z_critical(confidence: f64) -> Option<f64> {
    let inside = confidence > 0.0 && confidence < 1.0 && upper_tail(confidence) < 1.0;
    inside.then(|| Normal::standard().inverse_cdf(upper_tail(confidence)))
}

/// P(|T| > |t|) for Student's T: the two-sided p of a t test. Degrees of freedom may be
/// fractional; `None` when they are under 1.
pub(crate) fn t_two_sided(t: f64, freedom: f64) -> Option<f64> {
    if t.is_nan() || freedom.is_nan() || freedom < 1.0 {
        return None;
    }
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some((2.0 * distribution.sf(t.abs())).min(1.0))
}

fn upper_tail(confidence: f64) -> f64 {
    0.5 + confidence / 2.0
}

/// Quantile of Student's t from that of the normal: Cornish–Fisher expansion in 1 / freedom
/// (Abramowitz and Stegun 26.7.5).
fn t_from_normal(z: f64, freedom: f64) -> f64 {
    let z2 = z * z;
    let g1 = z * (z2 + 1.0) / 4.0;
    let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let g4 = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0;
    z + (g1 + (g2 + (g3 + g4 / freedom) / freedom) / freedom) / freedom
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
            (0.95, 2.0, 4.302652729749462),
            (0.95, 4.0, 2.7764451051977934),
            (0.9, 7.3, 1.8829300179564308),
            (0.95, 9.0, 2.262157162798205),
            (0.99, 9.0, 3.249835541592126),
            (0.999, 22.0, 3.792130671698437),
            (0.95, 29.0, 2.045229642132703),
            (0.95, 999.0, 1.9623414611334493),
            (0.95, 10000.0, 1.960201239890626),
            (0.999, 100000.0, 3.2906240314119137),
            (0.95, 100000000.0, 1.9599640082627663),
        ] {
            close(t_critical(confidence, freedom).unwrap(), expected, 1e-11);
        }
    }

    #[test]
    fn series_and_inverse_cdf_agree() {
        for confidence in [0.5, 0.9, 0.95, 0.99, 0.999] {
            let below = t_critical(confidence, SERIES_FROM).unwrap();
            let series = t_from_normal(z_critical(confidence).unwrap(), SERIES_FROM);
            close(series, below, 1e-11);
        }
    }

    #[test]
    fn t_tails_match_scipy() {
        // scipy 1.17.1: 2 * stats.t.sf(abs(t), df)
        for (t, freedom, expected) in [
            (0.0, 3.0, 1.0),
            (0.5, 1.0, 0.7048327646991335),
            (1.0, 9.0, 0.3434363961379136),
            (2.262157162798205, 9.0, 0.05),
            (2.1, 17.3, 0.050688223022867525),
            (3.5, 18.0, 0.0025567273667714855),
            (8.0, 9.0, 2.2134816809400155e-05),
            (-2.0, 40.0, 0.05232234321504919),
            (40.0, 4.0, 2.3340163226012678e-06),
            (2.5, 1000.0, 0.012578567801090807),
        ] {
            close(t_two_sided(t, freedom).unwrap(), expected, 1e-11);
        }
        // Large degrees of freedom: statrs is less accurate.
        for (t, freedom, expected) in
            [(2.5, 1e5, 0.012420919192559051), (5.0, 1e8, 5.733041101267264e-07)]
        {
            close(t_two_sided(t, freedom).unwrap(), expected, 1e-6);
        }
        assert_eq!(t_two_sided(1.0, 0.5), None);
        assert_eq!(t_two_sided(f64::NAN, 9.0), None);
        assert_eq!(t_two_sided(f64::INFINITY, 9.0), Some(0.0));
    }

    #[test]
    fn invalid_confidence_or_freedom_gives_none() {
        for confidence in [0.0, 1.0, -0.5, 95.0, f64::NAN, 1.0 - f64::EPSILON / 2.0] {
            assert_eq!(t_critical(confidence, 9.0), None, "{confidence}");
        }
        assert_eq!(t_critical(0.95, 0.0), None);
        assert_eq!(t_critical(0.95, f64::NAN), None);
    }
}
