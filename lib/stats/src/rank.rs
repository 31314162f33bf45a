//! Rank statistics: comparison of two sets without an assumed distribution.

use serde::Serialize;

use crate::describe::{sorted, usable};
use crate::distribution::normal_upper;

/// Result of a two-sided Mann–Whitney U test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MannWhitney {
    /// U of the first set: pairs in which its value is larger; a tie counts a half.
    pub u: f64,
    /// Two-sided p value.
    pub p: f64,
}

/// Mann–Whitney U test by the normal approximation, corrected for ties and for continuity, as in
/// `scipy.stats.mannwhitneyu(method='asymptotic')`.
///
/// The approximation is good from about eight values per set; with fewer, only the order of
/// magnitude of p is right.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if !usable(a) || !usable(b) {
        return None;
    }
    let ordered = sorted(b);
    let wins = |v: &f64| {
        let below = ordered.partition_point(|other| other < v);
        let not_above = ordered.partition_point(|other| other <= v);
        (below + not_above) as f64 / 2.0
    };
    let u: f64 = a.iter().map(wins).sum();

    let (n_a, n_b) = (a.len() as f64, b.len() as f64);
    let n = n_a + n_b;
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let cubes = |k: usize| (k as f64).powi(3) - k as f64;
    let ties: f64 = tie_sizes(&all).into_iter().map(cubes).sum();
    let variance = n_a * n_b / 12.0 * ((n + 1.0) - ties / (n * (n - 1.0)));
    let half = n_a * n_b / 2.0;
    let excess = (u - half).abs() - 0.5;
    // The variance is zero when all values are equal: no evidence of a difference.
    let p = if variance > 0.0 { 2.0 * normal_upper(excess / variance.sqrt()) } else { 1.0 };
    Some(MannWhitney { u, p: p.min(1.0) })
}

/// Sizes of the groups of equal values, including groups of one.
pub(crate) fn tie_sizes(values: &[f64]) -> Vec<usize> {
    sorted(values).chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ROUNDS_A, ROUNDS_C, close};

    #[test]
    fn matches_scipy() {
        // scipy 1.17.1: stats.mannwhitneyu(a, b, method='asymptotic'): statistic, pvalue
        let tied_a = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0];
        let tied_b = [2.0, 3.0, 4.0, 4.0, 5.0, 6.0, 6.0];
        for (a, b, u, p) in [
            (&ROUNDS_A[..], &ROUNDS_C[..], 16.0, 0.03679514717145202),
            (&tied_a, &tied_b, 13.0, 0.08748033392519716),
            (&tied_b, &tied_a, 43.0, 0.08748033392519716),
            (&ROUNDS_A, &ROUNDS_A, 50.0, 1.0),
        ] {
            let test = mann_whitney(a, b).unwrap();
            assert_eq!(test.u, u);
            close(test.p, p, 1e-9);
        }
    }

    #[test]
    fn equal_values_are_no_evidence() {
        let test = mann_whitney(&[3.0; 5], &[3.0; 6]).unwrap();
        assert_eq!((test.u, test.p), (15.0, 1.0));
        assert_eq!(mann_whitney(&[3.0], &[3.0]).unwrap().p, 1.0);
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[]), None);
        assert_eq!(mann_whitney(&[1.0, f64::NAN], &[1.0]), None);
    }

    #[test]
    fn ties_are_grouped() {
        assert_eq!(tie_sizes(&[2.0, 1.0, 2.0, 3.0, 2.0]), [1, 3, 1]);
        // IEEE equality, not bit patterns: both zeros are one value.
        assert_eq!(tie_sizes(&[0.0, -0.0]), [2]);
        assert!(tie_sizes(&[]).is_empty());
    }
}
