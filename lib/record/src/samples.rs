//! The timed iterations of one process, summed up.

use std::ops::Deref;

use contract::message::{Distribution, Extra};
use serde::{Deserialize, Serialize};

/// Fewest samples that have a 99.9th percentile.
const MANY: u64 = 10_000;

/// Summary of the timed iterations, in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Count, moments and percentiles.
    #[serde(flatten)]
    pub distribution: Distribution,
    /// 99.9th percentile; absent under ten thousand samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999: Option<u64>,
    /// Beginning and end of the run; absent under nine samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thirds: Option<Thirds>,
}

/// Means of the first and of the last third of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thirds {
    /// Mean of the first third, in ns.
    pub first: f64,
    /// Mean of the last third, in ns.
    pub last: f64,
    /// Standard error of their difference, from the means of ten batches in each: neighbouring
    /// samples are alike, and an error that takes them for independent is far too small.
    pub error: f64,
}

impl Thirds {
    /// Change from the first third to the last, as a share of the first.
    pub fn change(&self) -> f64 {
        self.last / self.first - 1.0
    }

    /// True if the change is within three standard errors.
    pub fn is_steady(&self) -> bool {
        (self.last - self.first).abs() <= 3.0 * self.error
    }

    /// `None` under nine samples.
    pub fn of(samples: &[u64]) -> Option<Self> {
        let third = samples.len() / 3;
        if third < 3 {
            return None;
        }
        let (first, first_error) = mean_and_error(&samples[..third]);
        let (last, last_error) = mean_and_error(&samples[samples.len() - third..]);
        Some(Thirds { first, last, error: first_error.hypot(last_error) })
    }
}

/// Mean of the batch means, and its standard error.
fn mean_and_error(samples: &[u64]) -> (f64, f64) {
    let batches: Vec<f64> = samples
        .chunks(samples.len().div_ceil(10))
        .map(|batch| batch.iter().map(|&ns| ns as f64).sum::<f64>() / batch.len() as f64)
        .collect();
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let variance = batches.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

impl Samples {
    /// Exact summary of samples in their order: sums in integers, percentiles by nearest rank. `None` if there are none.
    pub fn of(samples: &[u64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len() as u64;
        let sum: u128 = sorted.iter().map(|&ns| u128::from(ns)).sum();
        let mean = sum as f64 / count as f64;
        // In a second pass: a difference of large sums would lose the digits.
        let squares: f64 = sorted.iter().map(|&ns| (ns as f64 - mean).powi(2)).sum();
        let distribution = Distribution {
            count,
            mean,
            stddev: (count > 1).then(|| (squares / count as f64).sqrt()),
            min,
            p50: nearest_rank(&sorted, 500),
            p90: nearest_rank(&sorted, 900),
            p99: nearest_rank(&sorted, 990),
            max,
        };
        let p999 = (count >= MANY).then(|| nearest_rank(&sorted, 999));
        Some(Samples { distribution, p999, thirds: Thirds::of(samples) })
    }
}

/// Samples are read as their distribution.
impl Deref for Samples {
    type Target = Distribution;

    fn deref(&self) -> &Distribution {
        &self.distribution
    }
}

/// Percentile of sorted samples in parts per thousand, by nearest rank.
fn nearest_rank(sorted: &[u64], part: usize) -> u64 {
    sorted[(sorted.len() * part).div_ceil(1000).max(1) - 1]
}

/// Adds distributions of a further slice. Count, mean, deviation and extremes are exact; a percentile
/// is the mean of the slices', weighted by their counts.
pub fn merge(all: &mut Extra, more: Extra) {
    for (name, b) in more {
        let Some(a) = all.get_mut(&name) else {
            all.insert(name, b);
            continue;
        };
        let (n, m) = (a.count as f64, b.count as f64);
        let weighted = |x: f64, y: f64| (x * n + y * m) / (n + m).max(1.0);
        let percentile = |x: u64, y: u64| weighted(x as f64, y as f64).round() as u64;
        let mean = weighted(a.mean, b.mean);
        let spread = |d: f64, own: f64| d.powi(2) + (own - mean).powi(2);
        let variances = [&*a, &b].map(|own| spread(own.spread().unwrap_or(0.0), own.mean));
        let variance = weighted(variances[0], variances[1]);
        *a = Distribution {
            count: a.count.saturating_add(b.count),
            mean,
            stddev: Some(variance.sqrt()),
            min: a.min.min(b.min),
            p50: percentile(a.p50, b.p50),
            p90: percentile(a.p90, b.p90),
            p99: percentile(a.p99, b.p99),
            max: a.max.max(b.max),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_percentiles_of_one_to_a_thousand() {
        let samples: Vec<u64> = (1..=1000).rev().collect();
        let s = Samples::of(&samples).unwrap();
        // (n + 1) / 2 and sqrt((n² - 1) / 12): the discrete uniform distribution.
        assert_eq!(s.mean, 500.5);
        assert!((s.stddev.unwrap() - (999_999.0_f64 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!((s.min, s.p50, s.p90, s.p99, s.max), (1, 500, 900, 990, 1000));
        assert_eq!(Samples::of(&[7]).map(|s| (s.p50, s.stddev)), Some((7, None)));
        let many = Samples::of(&(1..=10_000).collect::<Vec<u64>>()).unwrap();
        assert_eq!((s.p999, many.p999), (None, Some(9990)));
        assert_eq!(Samples::of(&[]), None);
    }

    #[test]
    fn the_deviation_keeps_its_digits_beside_a_large_mean() {
        let s = Samples::of(&[10_000_000_000_001, 10_000_000_000_002, 10_000_000_000_003]).unwrap();
        assert_eq!(s.mean, 10_000_000_000_002.0);
        assert!((s.stddev.unwrap() - (2.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        let widest = Samples::of(&[0, u64::MAX]).unwrap().stddev.unwrap();
        assert!((widest / 2_f64.powi(63) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn drift_is_seen_and_noise_is_not() {
        let noise = |i: u64| 1000 + i * 7919 % 13;
        let thirds = |samples: Vec<u64>| Thirds::of(&samples);
        assert!(thirds((0..300).map(noise).collect()).unwrap().is_steady());
        let rising = thirds((0..300).map(|i| noise(i) + i).collect()).unwrap();
        assert!(!rising.is_steady() && rising.change() > 0.15);
        assert_eq!(thirds((1..9).collect()), None);
    }

    #[test]
    fn slices_of_a_distribution_add_up() {
        let samples = [[1_u64, 2, 3, 4], [5, 6, 7, 100]];
        let mut all = Extra::new();
        for slice in samples {
            let distribution = Samples::of(&slice).unwrap().distribution;
            merge(&mut all, [("a".to_owned(), distribution)].into());
        }
        let whole = Samples::of(&samples.concat()).unwrap();
        let found = all["a"];
        assert_eq!((found.count, found.min, found.max), (8, 1, 100));
        assert!((found.mean - whole.mean).abs() < 1e-9);
        assert!((found.stddev.unwrap() - whole.stddev.unwrap()).abs() < 1e-9);
        assert_eq!(found.p50, 4);
    }
}
