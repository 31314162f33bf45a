//! The Theil–Sen slope, which is robust against outliers.

use serde::Serialize;

use crate::describe::{quantile_sorted, usable};

/// Theil–Sen line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TheilSen {
    /// Median of the slopes of all pairs of points with distinct x, in units of y per unit of x.
    pub slope: f64,
}

/// Theil–Sen line through at least two points with distinct x.
pub fn theil_sen(x: &[f64], y: &[f64]) -> Option<TheilSen> {
    if x.len() != y.len() || !usable(x) || !usable(y) {
        return None;
    }
    let mut slopes = Vec::new();
    for i in 0..x.len() {
        let pairs = (0..i).filter(|&j| x[i] != x[j]);
        slopes.extend(pairs.map(|j| (y[i] - y[j]) / (x[i] - x[j])));
    }
    slopes.sort_unstable_by(f64::total_cmp);
    Some(TheilSen { slope: quantile_sorted(&slopes, 0.5)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MEMORY_X, MEMORY_Y, close};

    #[test]
    fn slopes_match_scipy() {
        // scipy 1.17.1: stats.theilslopes(Y, X, 0.95)[0]
        close(theil_sen(&MEMORY_X, &MEMORY_Y).unwrap().slope, 9791.595789473684, 1e-12);
        // Ties in y, one outlier.
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let y = [2.0, 4.0, 4.0, 8.0, 9.0, 13.0, 13.0, 40.0];
        close(theil_sen(&x, &y).unwrap().slope, 2.225, 1e-12);
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        for (x, y) in [
            (&[][..], &[][..]),
            (&[1.0, 1.0], &[1.0, 2.0]),
            (&[1.0, 2.0], &[1.0]),
            (&[1.0, 2.0], &[1.0, f64::NAN]),
        ] {
            assert_eq!(theil_sen(x, y), None, "{x:?} {y:?}");
        }
    }
}
